/** What the operator deploys. */
export const APP = 'web'
export const REPLICAS = 2
export const IMAGE = 'nginx:1.29'
