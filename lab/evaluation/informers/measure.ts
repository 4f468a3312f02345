import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { operatorFolder } from '../../harness/kubernetes/operator-folder.ts'
import { serveObjects } from './object-server.ts'

const run = promisify(execFile)
const MODULE = fileURLToPath(new URL('../../../go/', import.meta.url))

export const LANGUAGES = ['Go', 'TypeScript'] as const
type Language = (typeof LANGUAGES)[number]

export interface InformerRun {
  /** Until the informer holds all objects, and its handlers were told. */
  filledMs: number
  /** Until its handlers were told of all changes. */
  changedMs: number
  /** Of the process, for both. */
  cpuMs: number
  /** What the heap holds in the end, after a collection. */
  heapMib: number
}

/** A run without the library and one with it, which take turns in going first. */
export interface InformerPair {
  plain: InformerRun
  traced: InformerRun
}

export interface InformersData {
  objects: number
  changes: number
  load: number
  pairs: Record<Language, InformerPair[]>
}

interface InformersSize {
  informerObjects: number
  informerChanges: number
  informerPairs: number
}

/** What an informer that the library traces takes more, in both languages, over as many objects as a large cluster has of a kind. */
export async function measureInformers(size: InformersSize, onRun: () => void): Promise<InformersData> {
  await using open = new AsyncDisposableStack()
  const { path: directory } = open.use(freshDirectory(tmpdir()))
  const load = loadavg()[0] ?? Number.NaN
  const program = join(directory, 'informer-in-go')
  const env = { ...process.env, GOWORK: 'off', CGO_ENABLED: '0' }
  await run('go', ['build', '-o', program, './internal/informer'], { cwd: MODULE, env })
  const folder = await operatorFolder(directory)
  const file = join(folder, 'informer.mjs')
  await writeFile(file, INFORMER_PROGRAM)
  const { informerObjects: objects, informerChanges: changes } = size
  const commands: Record<Language, readonly string[]> = {
    Go: [program],
    TypeScript: [process.execPath, '--expose-gc', '--max-old-space-size=4096', '--no-warnings', file],
  }
  const measure = async (language: Language, how: 'plain' | 'traced'): Promise<InformerRun> => {
    await using server = await serveObjects(objects, changes)
    const [command = '', ...args] = commands[language]
    const told = [...args, server.url, String(objects), String(changes), how]
    const { stdout } = await run(command, told, { cwd: folder })
    onRun()
    return JSON.parse(stdout) as InformerRun
  }
  const pairs: Record<Language, InformerPair[]> = { Go: [], TypeScript: [] }
  for (const language of LANGUAGES)
    for (let pair = 0; pair < size.informerPairs; pair++) {
      const isPlainFirst = pair % 2 === 0
      const first = await measure(language, isPlainFirst ? 'plain' : 'traced')
      const second = await measure(language, isPlainFirst ? 'traced' : 'plain')
      const [plain, traced] = isPlainFirst ? [first, second] : [second, first]
      pairs[language].push({ plain, traced })
    }
  return { objects, changes, load, pairs }
}

/** Fills an informer as the program in Go does (go/internal/informer). It runs where the client is installed. */
const INFORMER_PROGRAM = `
import { CoreV1Api, KubeConfig, makeInformer as makePlain } from '@kubernetes/client-node'
import { traceCluster } from 'causeway-instrumentation/kubernetes'

const [server, objects, changes, how] = process.argv.slice(2)
const plain = new KubeConfig()
plain.loadFromOptions({
  clusters: [{ name: 'measured', server, skipTLSVerify: true }],
  users: [{ name: 'nobody' }],
  contexts: [{ name: 'measured', cluster: 'measured', user: 'nobody' }],
  currentContext: 'measured',
})
const traced = how === 'traced' ? traceCluster(plain, { cluster: 'measured' }) : undefined
const config = traced?.kubeConfig ?? plain
const makeInformer = traced?.informers(makePlain) ?? makePlain
const core = config.makeApiClient(CoreV1Api)
const informer = makeInformer(config, '/api/v1/configmaps', () => core.listConfigMapForAllNamespaces())
const filled = Promise.withResolvers()
const done = Promise.withResolvers()
let added = 0
let changed = 0
informer.on('add', () => { if (++added === Number(objects)) filled.resolve() })
informer.on('update', () => { if (++changed === Number(changes)) done.resolve() })
informer.on('error', (error) => { if (error) { console.error(error); process.exit(1) } })
let began = performance.now()
await informer.start()
await filled.promise
const filledMs = performance.now() - began
began = performance.now()
await fetch(server + '/change', { method: 'POST' })
await done.promise
const changedMs = performance.now() - began
const { user, system } = process.cpuUsage()
gc()
gc()
const heapMib = process.memoryUsage().heapUsed / 2 ** 20
console.log(JSON.stringify({ filledMs, cpuMs: (user + system) / 1000, heapMib, changedMs }))
process.exit()
`
