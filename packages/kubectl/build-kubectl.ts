import { createHash } from 'node:crypto'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MAIN = join(ROOT, 'packages', 'kubectl', 'kubectl-main.ts')
/** Where bin/causeway.js looks for the build and for the list of its sources. */
const BUILT = join(ROOT, 'dist', 'kubectl')
const SOURCES = 'sources.json'

interface Finder {
  builtKubectl: (root: string) => string | undefined
}

/** Whether dist/kubectl was built from the current sources. */
export function isKubectlBuilt(): boolean {
  const { builtKubectl } = createRequire(import.meta.url)('./built-kubectl.cjs') as Finder
  return builtKubectl(ROOT) !== undefined
}

/**
 * Builds `causeway kubectl` into a few files in dist/kubectl: loading many small files is most of its overhead over kubectl. The old
 * build stays in place until the new one is complete.
 */
export async function buildKubectl(): Promise<void> {
  const { build } = await import('vite')
  const outDir = join(ROOT, 'dist', `kubectl-${process.pid}`)
  try {
    const result = await build({
      root: ROOT,
      configFile: false,
      envDir: false,
      publicDir: false,
      logLevel: 'warn',
      ssr: { noExternal: true },
      build: {
        ssr: MAIN,
        outDir,
        emptyOutDir: true,
        target: 'node24',
        rolldownOptions: {
          // Dynamic imports matter only when the sources run directly; here they share a file with the rest.
          checks: { ineffectiveDynamicImport: false },
          output: {
            // An ES import of a Node module reads all of its names, and some of these load much code.
            format: 'cjs',
            entryFileNames: '[name].cjs',
            chunkFileNames: '[name].cjs',
            // Modules that are loaded at the same moment share a file.
            codeSplitting: {
              groups: [
                { name: 'running', test: /\/run-(?:kubectl|program)\.ts$/, priority: 3 },
                {
                  name: 'writing',
                  test: /\/(?:writing-kubectl|run-as-one-change|public-arguments)\.ts$/,
                  priority: 2,
                },
                { name: 'carried', test: /\/carried-change\.ts$/, priority: 1 },
              ],
            },
          },
        },
      },
    })
    const outputs = [result].flat().flatMap((one) => ('output' in one ? one.output : []))
    const modules = outputs.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []))
    await writeFile(join(outDir, SOURCES), JSON.stringify(await sourcesOf(modules)))
    await rm(BUILT, { recursive: true, force: true })
    await rename(outDir, BUILT)
  } finally {
    await rm(outDir, { recursive: true, force: true })
  }
}

/** The sources of the build, with package.json, which has the versions of the dependencies. */
async function sourcesOf(modules: readonly string[]): Promise<object[]> {
  const folders = ['src', 'packages'].map((folder) => join(ROOT, folder) + sep)
  const own = modules.filter((path) => folders.some((folder) => path.startsWith(folder)))
  return await Promise.all(
    [join(ROOT, 'package.json'), ...own.sort()].map(async (file) => {
      const { size, mtimeMs } = await stat(file)
      const digest = createHash('sha256').update(await readFile(file))
      return {
        path: relative(ROOT, file).replaceAll(sep, '/'),
        bytes: size,
        mtimeMs,
        digest: digest.digest('hex'),
      }
    }),
  )
}
