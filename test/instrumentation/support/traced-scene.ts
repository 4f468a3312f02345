import {
  traceCluster,
  type TraceClusterSettings,
} from '../../../packages/instrumentation/src/kubernetes/index.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { Api, httpApi, type Asked, type Stored } from './asked-server.ts'
import type { Sdk } from './start-sdk.ts'

const CPID = 'causeway.io/cpid'
export const WEB = '/apis/apps/v1/namespaces/default/deployments/web'

export const object = (number: number, resourceVersion = '7', name = 'web'): Stored => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name,
    namespace: 'default',
    uid: `u${number}`,
    resourceVersion,
    annotations: { [CPID]: cpid(number) },
  },
})

export function traced(settings: TraceClusterSettings = {}) {
  let next = 100
  const config = { makeApiClient: (type: typeof Api) => new type({ httpApi }) }
  const cluster = traceCluster(config, { newCpid: () => cpid(next++), ...settings })
  return { ...cluster, api: cluster.kubeConfig.makeApiClient(Api) }
}

export const told = (sdk: Sdk) => sdk.records().map(({ attributes }) => attributes['cpid.new'])
export const carried = ({ body }: Asked): string | undefined => body?.metadata?.annotations?.[CPID]
