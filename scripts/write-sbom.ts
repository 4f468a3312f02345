import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

interface Bom {
  metadata: { component: Record<string, unknown> }
  components: unknown[]
}

/** Writes what Causeway is made of when it runs, as CycloneDX, to dist/. */
const root = new URL('../', import.meta.url)
const { name, version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  name: string
  version: string
}
const args = [
  'sbom',
  '--sbom-format',
  'cyclonedx',
  '--sbom-type',
  'application',
  '--omit',
  'dev',
  '--package-lock-only',
]
const { status, stdout, stderr } = spawnSync('npm', args, {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
  shell: process.platform === 'win32',
})
if (status !== 0) {
  console.error(`npm sbom failed; it needs npm 10 or later:\n${stderr}`)
  process.exitCode = 1
} else {
  const bom = JSON.parse(stdout) as Bom
  // npm takes the name of the folder.
  bom.metadata.component['name'] = name
  const file = new URL(`dist/${name}-${version}.cdx.json`, root)
  mkdirSync(new URL('./', file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(bom, undefined, 2)}\n`)
  console.log(`dist/${name}-${version}.cdx.json: ${bom.components.length} packages`)
}
