/** Fills an informer as the program in Go does (go/internal/informer). It runs where the client is installed. */
export const INFORMER_PROGRAM = `
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
