// Makes dist/causeway-<version>.tgz: the instrumentation library as JavaScript with types, for controllers that are not
// built beside a checkout (Node strips no types below node_modules). `causeway/instrumentation` is imported alike.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Manifest {
  version: string
  license?: string
  peerDependencies: Record<string, string>
}

const OLDEST_NODE = '>=20'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
const target = process.argv[2] ?? join(root, 'dist')
const stage = mkdtempSync(join(tmpdir(), 'causeway-instrumentation-'))
try {
  compile()
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(packedManifest(), undefined, 2)}\n`)
  copyFileSync(join(root, 'docs/instrumentation.md'), join(stage, 'README.md'))
  mkdirSync(target, { recursive: true })
  console.log(join(target, npmPack()))
} finally {
  rmSync(stage, { recursive: true })
}

function compile(): void {
  const options = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      rootDir: join(root, 'src'),
      outDir: stage,
      typeRoots: [join(root, 'node_modules/@types')],
    },
    files: [join(root, 'src/instrumentation/index.ts')],
    include: [],
  }
  const project = join(stage, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(options))
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
    stdio: 'inherit',
  })
  rmSync(project)
}

function packedManifest() {
  const { version, peerDependencies } = manifest
  const entry = { types: './instrumentation/index.d.ts', default: './instrumentation/index.js' }
  return {
    name: 'causeway',
    version,
    type: 'module',
    engines: { node: OLDEST_NODE },
    exports: { './instrumentation': entry },
    peerDependencies,
  }
}

function npmPack(): string {
  const args = ['pack', '--silent', '--pack-destination', target]
  return execFileSync('npm', args, {
    cwd: stage,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  }).trim()
}
