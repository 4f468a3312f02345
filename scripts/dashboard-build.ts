import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const SOURCE = join(ROOT, 'web')
/** Where Causeway looks for it. */
const BUILT = join(ROOT, 'dist', 'web')
const STAMP = 'source.sha256'
const COMPRESSED = /\.(?:html|js|css|svg)$/

/** Builds the dashboard into dist/web. What was there stays whole until the new one is. */
export async function buildDashboard(): Promise<void> {
  // Only here: to see whether there is something to build must be quick.
  const { build } = await import('vite')
  const outDir = join(ROOT, 'dist', `web-${process.pid}`)
  const stamp = await sourceStamp()
  try {
    await build({
      root: SOURCE,
      configFile: false,
      envDir: false,
      logLevel: 'warn',
      build: {
        outDir,
        emptyOutDir: true,
        target: 'es2023',
        // Nothing inline: the Content-Security-Policy allows files of our own only.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: false,
      },
    })
    await compressAll(outDir)
    await writeFile(join(outDir, STAMP), stamp)
    await rm(BUILT, { recursive: true, force: true })
    await rename(outDir, BUILT)
  } finally {
    await rm(outDir, { recursive: true, force: true })
  }
}

/** Whether dist/web is what the sources at hand make. */
export async function isDashboardBuilt(): Promise<boolean> {
  const built = await readFile(join(BUILT, STAMP), 'utf8').catch(() => undefined)
  return built !== undefined && built === (await sourceStamp())
}

async function sourceStamp(): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(SOURCE, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  for (const file of [...files.sort(), join(ROOT, 'package.json'), fileURLToPath(import.meta.url)]) {
    hash.update(file.slice(ROOT.length)).update('\0')
    hash.update(await readFile(file)).update('\0')
  }
  return hash.digest('hex')
}

/** Beside each file its compressed forms, made once with the greatest effort. */
async function compressAll(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !COMPRESSED.test(entry.name)) continue
    const file = join(entry.parentPath, entry.name)
    const bytes = await readFile(file)
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, { params }))
    await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }))
  }
}
