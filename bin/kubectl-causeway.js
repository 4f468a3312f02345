#!/usr/bin/env node
// Plain JavaScript that any Node from 20 on can start: kubectl runs it for "kubectl causeway".
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isNewEnough } from './oldest-node.js'

const plugin = join(dirname(fileURLToPath(import.meta.url)), '..', 'packages', 'kubectl-plugin')
const main = ['js', 'ts'].map((language) => join(plugin, `plugin-main.${language}`)).find(existsSync)

// In a checkout it is TypeScript, which only a newer Node runs.
if (isNewEnough || main.endsWith('.js')) await import(main)
else {
  const { newerNode, startUnder } = await import('./newer-node.js')
  startUnder(newerNode(), ['--no-warnings', main, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, CAUSEWAY_PARENT: String(process.pid) },
    signals: ['SIGINT', 'SIGTERM', 'SIGHUP'],
  })
}
