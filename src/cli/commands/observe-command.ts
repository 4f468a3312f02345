import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMPONENTS, WATCHING } from '../../app/components.ts'
import { kubeconfigAccess } from '../../cluster/kubeconfig-access.ts'
import { NANOS_PER_MS } from '../../model/clock.ts'
import type { LoadedConfig } from '../../config/load-config.ts'
import { CliError, messageOf } from '../cli-error.ts'
import type { CliIo } from '../cli-io.ts'
import type { CommandLine } from '../command-line.ts'
import { checkReceivers } from '../doctor/check-receivers.ts'
import { logForPeople } from '../observe/log-for-people.ts'
import { observeConfig } from '../observe/observe-config.ts'
import { SettledCascades, watchSettled, type SettledCascade } from '../observe/settled-cascades.ts'
import { configOf } from '../config-of.ts'
import { count, duration, objectText, plain } from '../text/show.ts'
import type { Run } from './command.ts'

const LOOK_EVERY_MS = 1_000
const SHOWN_SERVICES = 5
/** What is answered for a page of a dashboard that was not built. */
const NOT_BUILT = 503

export const runObserve: Run = async (line, io) => {
  using folder = line.database === undefined ? temporaryFolder() : undefined
  const loaded = load(line, line.database ?? join(folder?.path ?? '', 'causeway.db'), io)
  await sayWhatIsSeen(loaded, io)
  const [listener] = loaded.config.extensions.flatMap(({ listeners }) => listeners)
  const url = `http://${listener?.host ?? 'localhost'}:${listener?.port ?? 0}`
  const stop = new AbortController()
  const show = (cascade: SettledCascade): void => void io.stdout.write(`${lineOf(cascade, url)}\n`)
  const watching = watchSettled(new SettledCascades(url), LOOK_EVERY_MS, show, stop.signal)
  const writeLog = logForPeople({
    listed: (resources, refused) => {
      const all = refused === 0 ? `${resources}` : `${resources} of ${resources + refused}`
      const quiet = duration(BigInt(loaded.config.cpid.linking.settleAfterMs) * NANOS_PER_MS)
      io.stdout.write(
        `Watching ${all} resources. A change is printed once nothing has followed from it for ${quiet}; the dashboard is at ${url}/. Ctrl-C ends it.\n`,
      )
      void sayIfNotBuilt(url, io)
    },
    complaint: (text) => io.stderr.write(`${text}\n`),
  })
  try {
    return await io.run(loaded, () => loaded, writeLog)
  } finally {
    stop.abort()
    await watching
  }
}

function load(line: CommandLine, database: string, io: CliIo): LoadedConfig {
  const { kubeconfig, context } = line
  const namespaces = line.namespace?.split(',') ?? []
  const cluster = nameOfCluster(kubeconfig, context)
  const source = observeConfig(WATCHING, { cluster, kubeconfig, context, namespaces, database })
  return configOf({ ...line, sources: [source] }, io)
}

function nameOfCluster(path: string | undefined, context: string | undefined): string {
  try {
    return kubeconfigAccess({ path, context }).name
  } catch (error) {
    throw new CliError(messageOf(error))
  }
}

/** Says what is seen and what is not. Throws CliError when nothing is. */
async function sayWhatIsSeen({ config }: LoadedConfig, io: CliIo): Promise<void> {
  for await (const { state, message, advice = '' } of checkReceivers(config, io.components ?? COMPONENTS)) {
    const indented = advice.replaceAll('\n', '\n  ')
    if (state === 'fail' && !advice.includes('\n')) throw new CliError(`${plain(message)}; ${advice}`)
    io.stdout.write(`${plain(message)}${advice === '' ? '' : `\n  ${indented}`}\n`)
    if (state === 'fail') throw new CliError('nothing of the cluster can be seen; do what stands above')
  }
}

function temporaryFolder(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'causeway-observe-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** In a checkout it may not have been built; whatever else is wrong shows in the browser. */
async function sayIfNotBuilt(url: string, io: CliIo): Promise<void> {
  const { status } = await fetch(`${url}/`, { headers: { accept: 'text/html' } }).catch(() => ({ status: 0 }))
  if (status === NOT_BUILT)
    io.stdout.write('The dashboard has not been built yet: run npm run build, and load its page then.\n')
}

/** What, why and by whom, which services, how long; and where there is more. */
function lineOf(cascade: SettledCascade, url: string): string {
  const { root, object, actor, reason, services, spans, durationMs } = cascade
  const shown = services.slice(0, SHOWN_SERVICES).map(plain).join(', ')
  const more = services.length > SHOWN_SERVICES ? ` and ${services.length - SHOWN_SERVICES} more` : ''
  // A write that nothing followed has no duration that anybody could have seen.
  const took = spans === 1 ? '' : ` in ${duration(BigInt(Math.round(durationMs * Number(NANOS_PER_MS))))}`
  const why = plain(reason ?? `by ${actor ?? 'nobody known'}`)
  const wrote = `${count(spans, 'write')} of ${shown}${more}${took}`
  return `${objectText(object ?? undefined)}, ${why}: ${wrote}  ${url}/cascades/${root}`
}
