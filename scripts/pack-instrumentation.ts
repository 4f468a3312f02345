// Makes dist/causeway-instrumentation-<version>.tgz: the library as JavaScript with types, for controllers that are not built
// beside a checkout (Node strips no types below node_modules).
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const library = join(root, 'packages/instrumentation')
/** What is imported, and the file that it is. */
const ENTRIES = [
  ['.', 'index'],
  ['./kubernetes', 'kubernetes/index'],
  ['./testing', 'testing/index'],
] as const
const target = process.argv[2] ?? join(root, 'dist')
const stage = mkdtempSync(join(tmpdir(), 'causeway-instrumentation-'))
try {
  compile()
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(packedManifest(), undefined, 2)}\n`)
  writeFileSync(
    join(stage, 'README.md'),
    withoutLinks(readFileSync(join(root, 'docs/instrumentation.md'), 'utf8')),
  )
  writeFileSync(join(stage, 'LIBRARY.md'), withoutLinks(readFileSync(join(library, 'README.md'), 'utf8')))
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
      rootDir: join(library, 'src'),
      outDir: stage,
      typeRoots: [join(root, 'node_modules/@types')],
    },
    files: ENTRIES.map(([, entry]) => join(library, `src/${entry}.ts`)),
    include: [],
  }
  const project = join(stage, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(options))
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
    stdio: 'inherit',
  })
  rmSync(project)
}

/** The library's own manifest, with the entry as it is packed. */
function packedManifest(): object {
  const manifest = JSON.parse(readFileSync(join(library, 'package.json'), 'utf8')) as object
  const exports = ENTRIES.map(([name, entry]) => [
    name,
    { types: `./${entry}.d.ts`, default: `./${entry}.js` },
  ])
  return { ...manifest, private: false, exports: Object.fromEntries(exports) as object }
}

/** A document without links to files that are not packed. */
function withoutLinks(markdown: string): string {
  return markdown
    .replace(/\[[^\]]+\]\(\.\.\/packages\/instrumentation\/README\.md\)/g, '`LIBRARY.md`')
    .replace(/\[([^\]]+)\]\((?!#|https?:)[^)]+\)/g, '$1')
}

function npmPack(): string {
  const args = ['pack', '--silent', '--pack-destination', target]
  return execFileSync('npm', args, {
    cwd: stage,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  }).trim()
}
