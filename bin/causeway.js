#!/usr/bin/env node
// Plain JavaScript that any Node from 20 on can start: Causeway itself needs Node 24, which npm installed
// as a dependency. Under an older Node this file becomes a thin parent that lives and dies with the real one.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { needDependencies } from './dependencies.js'
import { isNewEnough } from './oldest-node.js'

// The network thread takes in many requests and keeps none: 4 MiB do for its young objects. And no thread's heap grows to
// twice or four times what it needs before its garbage is collected. And after one slow request, whose spans live long, V8 would
// allocate all later spans in the old generation, where garbage is collected late and at a higher cost.
const FRUGAL = ['--max-semi-space-size=4', '--heap-growing-percent=60', '--no-allocation-site-pretenuring']
// Large buffers go back to the system when they are freed, and threads do not hoard what others could use (glibc).
const FRUGAL_ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' }

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const args = process.argv.slice(2)
// npm's package has JavaScript: Node strips no types below node_modules.
const language = existsSync(join(root, 'src', 'main.js')) ? 'js' : 'ts'
keepCompiledCode()
const load = module.createRequire(import.meta.url)
const isOfAnother = args[0] === 'kubectl' || (args[0] === 'run' && args.includes('--'))
const main = isOfAnother ? kubectlMain() : join(root, 'src', `main.${language}`)
// Commands end soon and are asked for by people who wait.
const isServer = args[0] === 'observe' || (args[0]?.startsWith('-') ?? true)

if (isNewEnough && !main.endsWith('.cjs')) needDependencies()
if (!isNewEnough) {
  const { newerNode, startUnder } = await import('./newer-node.js')
  startUnder(newerNode(), ['--no-warnings', ...FRUGAL, main, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...FRUGAL_ENVIRONMENT, ...process.env, CAUSEWAY_PARENT: String(process.pid) },
    signals: ['SIGINT', 'SIGTERM', 'SIGHUP'],
  })
} else if (isServer && process.execve !== undefined && process.platform !== 'win32') {
  const again = [process.execPath, ...FRUGAL, ...process.execArgv, main, ...args]
  process.execve(process.execPath, again, { ...FRUGAL_ENVIRONMENT, ...process.env })
} else if (main.endsWith('.cjs')) load(main)
else await import(main)

/** What Node makes of the sources once it need not make again, in any thread: some 10 MB less in each. */
function keepCompiledCode() {
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'causeway')
  if (isNewEnough) module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
}

/** kubectl and the like are typed all day: what Causeway itself is made of is not loaded for it, nor many files where a few are built. */
function kubectlMain() {
  const kubectl = join(root, 'packages', 'kubectl')
  return (
    load(join(kubectl, 'built-kubectl.cjs')).builtKubectl(root) ?? join(kubectl, `kubectl-main.${language}`)
  )
}
