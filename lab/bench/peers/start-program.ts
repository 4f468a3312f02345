import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:net'
import type { PeerName } from '../../peers/peer-versions.ts'
import { startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { freePorts } from '../../harness/free-ports.ts'
import { linkLag } from '../measure/link-lag.ts'
import { collectorConfig, jaegerConfig } from './peer-configs.ts'
import type { PeersOptions } from './options.ts'
import { type StartedProcess, startProcess } from '../../harness/processes/start-process.ts'
import type { ProgramName } from './programs.ts'

/** Paths of the peers' programs. */
export type Installed = Partial<Record<PeerName, string>>

interface RunningProgram extends StartedProcess {
  grpc: string
  http: string
  /** Where all that it keeps is. */
  data: string
  /** Whether it has done what it put off until nothing comes in; a program without that has none. */
  isSettled?: () => boolean
}

/** Starts a program in a fresh folder; resolves once it takes spans. */
export async function startProgram(
  name: ProgramName,
  options: PeersOptions,
  { installed, directory, sink }: { installed: Installed; directory: string; sink: number },
): Promise<RunningProgram> {
  const data = join(directory, 'data')
  mkdirSync(data)
  if (name === 'causeway' || name === 'causeway-export') {
    const causeway = await startMeasuredCauseway(options, data, name === 'causeway' ? undefined : sink)
    const { pid, endpoint, httpEndpoint, path, stop } = causeway
    return { pid, grpc: endpoint, http: httpEndpoint, data, isSettled: () => linkLag(path) === 0, stop }
  }
  const [grpc = 0, http = 0, query = 0] = await freePorts(3)
  const program = installed[name === 'jaeger' ? 'jaeger' : 'collector']
  if (program === undefined) throw new Error(`${name} is not installed`)
  const content =
    name === 'jaeger'
      ? jaegerConfig({ grpc, http }, data, query)
      : collectorConfig({ grpc, http }, data, sink, name === 'collector-fsync')
  const { pid, stop } = await startPeer(program, { path: join(directory, 'config.yaml'), content }, [
    grpc,
    http,
  ])
  return { pid, grpc: `127.0.0.1:${grpc}`, http: `127.0.0.1:${http}`, data, stop }
}

/** Badger writes what it has in memory when it closes. */
const STOP_LIMIT_MS = 60_000

/** Starts a program that reads `--config`; resolves once it listens on all of `ports`. */
async function startPeer(
  program: string,
  config: { path: string; content: object },
  ports: readonly number[],
): Promise<StartedProcess> {
  writeFileSync(config.path, JSON.stringify(config.content))
  return startProcess({
    name: program,
    command: program,
    args: ['--config', config.path],
    isReady: async () => (await Promise.all(ports.map(listens))).every(Boolean),
    stopLimitMs: STOP_LIMIT_MS,
  })
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.once('error', () => resolve(false))
  socket.once('connect', () => {
    socket.destroy()
    resolve(true)
  })
  return promise
}
