#!/usr/bin/env node
// Plain JavaScript that any Node from 20 on can start: Causeway itself needs Node 24, which npm installed
// as a dependency. Under an older Node this file becomes a thin parent that lives and dies with the real one.
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isNewEnough, newerNode, startUnder } from './newer-node.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const main = join(root, 'src', 'main.ts')

if (isNewEnough) {
  keepCompiledCode()
  await import(main)
} else {
  startUnder(newerNode(), ['--no-warnings', main, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, CAUSEWAY_PARENT: String(process.pid) },
    signals: ['SIGINT', 'SIGTERM', 'SIGHUP'],
  })
}

/** What Node makes of the sources once it need not make again, in any thread: some 10 MB less in each. */
function keepCompiledCode() {
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'causeway')
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
}
