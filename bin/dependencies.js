// Plain JavaScript for any Node from 20 on.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Ends the process with what to do when npm has not installed the dependencies. */
export function needDependencies() {
  try {
    createRequire(import.meta.url).resolve('yaml')
  } catch {
    const folder = dirname(dirname(fileURLToPath(import.meta.url)))
    console.error(`causeway: its dependencies are not installed; run "npm ci" in ${folder}`)
    process.exit(1)
  }
}
