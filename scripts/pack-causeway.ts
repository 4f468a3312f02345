// Makes dist/causeway-<version>.tgz: Causeway as JavaScript, since Node strips no types below node_modules. Beside it causeway-krew.yaml:
// the manifest of the kubectl plugin with the checksum of that file, without which krew takes none.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const SOURCES = ['src', 'migrations', 'packages/kubectl', 'packages/kubectl-plugin', 'packages/salvage']
const AS_THEY_ARE = ['bin', 'dist/web', 'dist/kubectl', 'otel-config.yaml', 'README.md', 'SECURITY.md']
/** A file of these sources where one names another, to import it or to start it as a thread. */
const NAMED_SOURCE = /'(\.{1,2}\/[^'\n]+)\.ts'/g

/** What only a checkout needs. */
const NOT_PACKED = [
  'private',
  'workspaces',
  'files',
  'scripts',
  'devDependencies',
  'overrides',
  'allowScripts',
]

execFileSync(process.execPath, [join(root, 'scripts/build-dashboard.ts'), '--if-stale'], { stdio: 'inherit' })
const target = process.argv[2] ?? join(root, 'dist')
const stage = mkdtempSync(join(tmpdir(), 'causeway-package-'))
try {
  for (const path of AS_THEY_ARE) cpSync(join(root, path), join(stage, path), { recursive: true })
  for (const folder of SOURCES) writeJavaScript(folder)
  // Of the sources that are packed, whatever the times of their files.
  writeFileSync(join(stage, 'dist/kubectl/sources.json'), '[]')
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(packedManifest(), undefined, 2)}\n`)
  mkdirSync(target, { recursive: true })
  const packed = join(target, npmPack())
  writeFileSync(join(target, 'causeway-krew.yaml'), krewManifest(packed))
  console.log(packed)
} finally {
  rmSync(stage, { recursive: true })
}

function writeJavaScript(folder: string): void {
  for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name).slice(root.length)
    mkdirSync(join(stage, path, '..'), { recursive: true })
    if (!path.endsWith('.ts')) {
      cpSync(join(root, path), join(stage, path))
      continue
    }
    const plain = stripTypeScriptTypes(readFileSync(join(root, path), 'utf8'))
    writeFileSync(join(stage, path.replace(/\.ts$/, '.js')), plain.replaceAll(NAMED_SOURCE, "'$1.js'"))
  }
}

function packedManifest(): object {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object
  const kept = Object.entries(manifest).filter(([key]) => !NOT_PACKED.includes(key))
  const gitHead = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  return { ...(Object.fromEntries(kept) as object), gitHead }
}

function krewManifest(packed: string): string {
  const checksum = createHash('sha256').update(readFileSync(packed)).digest('hex')
  return readFileSync(join(root, 'deploy/krew/causeway.yaml'), 'utf8').replace(
    "sha256: ''",
    `sha256: ${checksum}`,
  )
}

function npmPack(): string {
  const args = ['pack', '--silent', '--pack-destination', target]
  return execFileSync('npm', args, {
    cwd: stage,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  }).trim()
}
