// Plain JavaScript for any Node from 20 on: finds what npm run build made of `causeway kubectl`. In CommonJS, because an import of
// Node's own modules reads every name in them, and some of them load much.
const { readFileSync, statSync } = require('node:fs')
const { join } = require('node:path')

/** Its path, where it is of exactly the sources that are here; undefined otherwise. */
exports.builtKubectl = (root) => {
  const built = join(root, 'dist', 'kubectl')
  try {
    const sources = JSON.parse(readFileSync(join(built, 'sources.json'), 'utf8'))
    return sources.every((source) => isAsItWas(root, source)) ? join(built, 'kubectl-main.cjs') : undefined
  } catch {
    return undefined
  }
}

/** Files that were copied have another time, and are read. */
function isAsItWas(root, { path, bytes, mtimeMs, digest }) {
  const file = join(root, path)
  const now = statSync(file)
  if (now.size === bytes && now.mtimeMs === mtimeMs) return true
  const { createHash } = require('node:crypto')
  return now.size === bytes && createHash('sha256').update(readFileSync(file)).digest('hex') === digest
}
