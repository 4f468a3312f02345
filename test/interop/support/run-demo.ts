import { fileURLToPath } from 'node:url'
import type { Scene } from './scene.ts'

/** The CPIDs of the demo's story: a Deployment is created, then a Service, and both merge in the Endpoints. */
export interface Story {
  readonly alpha: string
  readonly beta: string
  readonly gamma: string
}

/** The services that act it out. */
export const STORY_SERVICES = [
  'deployment-controller',
  'endpoints-controller',
  'kubectl',
  'kubelet',
  'replicaset-controller',
  'scheduler',
]

const DEMO = fileURLToPath(new URL('../../../examples/demo/demo.ts', import.meta.url))

/** Has the demo's processes act out the story for whoever listens there; resolves once all of it was sent. */
export async function runDemo(scene: Scene, endpoint: string): Promise<Story> {
  const args = [DEMO, '--endpoint', endpoint, '--json']
  const output = await scene.start({ name: 'demo', command: process.execPath, args }).output()
  return JSON.parse(output) as Story
}

/** The trace id of a CPID: its 16 bytes. */
export function traceIdOf(cpid: string): string {
  return cpid.replaceAll('-', '')
}
