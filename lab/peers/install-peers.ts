import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { peerRecipes, type PeerRecipe } from './peer-recipes.ts'
import { peerVersions, type PeerName } from './peer-versions.ts'
import { PeerInstallError, runGo, type GoRun } from './run-go.ts'

type Log = (line: string) => void

const peerNames = Object.keys(peerVersions) as PeerName[]
const recipeFile = 'recipe.json'
const SAY_EVERY_MS = 15_000

/**
 * Builds those of the peers that are not in the cache yet and returns the path of each program. When the signal is aborted the
 * build ends, nothing of it is left in the cache, and this rejects with the signal's reason.
 *
 * They are built one after the other, since one Go build already uses every core. Several processes may do this at
 * once: each builds in a directory of its own, and the first to finish is kept.
 */
export async function installPeers<Name extends PeerName = PeerName>(
  names: readonly Name[] = peerNames as Name[],
  log: Log = toStderr,
  signal?: AbortSignal,
): Promise<Record<Name, string>> {
  const cache = peersDirectory(process.env)
  const paths: Partial<Record<Name, string>> = {}
  for (const name of names) {
    paths[name] = await installPeer(name, cache, log, signal)
  }
  return paths as Record<Name, string>
}

/** Returns `CAUSEWAY_PEERS_DIR`, or the user's cache directory when that is unset. */
export function peersDirectory(env: NodeJS.ProcessEnv): string {
  const chosen = env['CAUSEWAY_PEERS_DIR']
  if (chosen) {
    if (isAbsolute(chosen)) return chosen
    throw new PeerInstallError(
      `CAUSEWAY_PEERS_DIR is "${chosen}". Set it to an absolute path outside the repository.`,
    )
  }
  // The XDG specification has a relative path count as unset.
  const userCache = env['XDG_CACHE_HOME']
  return join(userCache && isAbsolute(userCache) ? userCache : join(homedir(), '.cache'), 'causeway-peers')
}

async function installPeer(
  name: PeerName,
  cache: string,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<string> {
  const recipe = peerRecipes[name]
  const home = join(cache, `${name}-${peerVersions[name]}`)
  if (await isBuilt(home, name, recipe)) return join(home, name)

  const startedAt = performance.now()
  log(`building ${name} ${peerVersions[name]} into ${home} (once)`)
  await createDirectory(cache)
  const scratch = await mkdtemp(join(cache, `.building-${name}-`))
  try {
    const onStep = progress(name, log)
    const built = await build(name, recipe, scratch, { signal, onStep })
    await moveIntoPlace(built, home, () => isBuilt(home, name, recipe))
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  log(`built ${name} in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  return join(home, name)
}

/** A peer built from another recipe, such as another list of Collector components, does not count. */
async function isBuilt(home: string, name: PeerName, recipe: PeerRecipe): Promise<boolean> {
  try {
    await access(join(home, name), constants.X_OK)
    return (await readFile(join(home, recipeFile), 'utf8')) === asText(recipe)
  } catch {
    return false
  }
}

/** Says now and then how far a build is: what go names, and how many it has named. */
function progress(name: PeerName, log: Log): (step: string) => void {
  const startedAt = performance.now()
  let steps = 0
  let saidAt = -Infinity
  return (step) => {
    steps++
    const now = performance.now()
    if (now - saidAt < SAY_EVERY_MS) return
    saidAt = now
    log(`  ${name}, ${Math.round((now - startedAt) / 1000)} s: ${step} (${steps})`)
  }
}

async function build(
  name: PeerName,
  recipe: PeerRecipe,
  scratch: string,
  watched: Pick<GoRun, 'signal' | 'onStep'>,
): Promise<string> {
  const work = join(scratch, 'work')
  const result = join(scratch, 'result')
  await mkdir(work)
  await mkdir(result)
  for (const [file, text] of Object.entries(recipe.files)) {
    await writeFile(join(work, file), text)
  }
  const purpose = `building ${name} ${peerVersions[name]}`
  const run = { directory: work, bin: join(work, 'bin'), purpose, env: recipe.env, ...watched }
  if (recipe.checksumsFrom !== undefined) {
    await copyFile(join(await moduleDirectory(recipe.checksumsFrom, run), 'go.sum'), join(work, 'go.sum'))
  }
  for (const args of recipe.goCommands) {
    await runGo(args, run)
  }
  await copyFile(join(work, recipe.binary), join(result, name))
  await writeFile(join(result, recipeFile), asText(recipe))
  return result
}

/** Downloads a module, which `go` checks against the checksum database, and says where it is. */
export async function moduleDirectory(module: string, run: GoRun): Promise<string> {
  const answer: unknown = JSON.parse(await runGo(['mod', 'download', '-json', module], run))
  if (typeof answer === 'object' && answer !== null && 'Dir' in answer && typeof answer.Dir === 'string') {
    return answer.Dir
  }
  throw new PeerInstallError(
    `"go mod download -json ${module}" names no directory. Update Go and run this again.`,
  )
}

async function moveIntoPlace(
  built: string,
  home: string,
  isAlreadyThere: () => Promise<boolean>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await rename(built, home)
      return
    } catch (error) {
      if (await isAlreadyThere()) return
      if (attempt === 3) {
        throw new PeerInstallError(
          `Cannot move the built program to ${home}. Remove that path and run this again.`,
          {
            cause: error,
          },
        )
      }
    }
    await moveAside(home)
  }
}

/** Renames before removing, so that nobody meets a half-removed peer under its own name. */
async function moveAside(home: string): Promise<void> {
  const aside = `${home}.old-${randomUUID()}`
  await rename(home, aside).catch(() => undefined)
  await rm(aside, { recursive: true, force: true })
}

async function createDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true })
  } catch (error) {
    throw new PeerInstallError(
      `Cannot create ${path}. Set CAUSEWAY_PEERS_DIR to a directory you may write to.`,
      {
        cause: error,
      },
    )
  }
}

function asText(recipe: PeerRecipe): string {
  return `${JSON.stringify(recipe, undefined, 2)}\n`
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** All of them when none is named. */
function namesGiven(words: readonly string[]): readonly PeerName[] {
  const unknown = words.filter((word) => !peerNames.some((name) => name === word))
  if (unknown.length > 0)
    throw new PeerInstallError(`No such peer: ${unknown.join(', ')}. Write ${peerNames.join(', ')}.`)
  return words.length === 0 ? peerNames : (words as PeerName[])
}

// `import.meta.main` came with Node 24.2.
if (process.argv[1] === import.meta.filename) {
  try {
    for (const [name, path] of Object.entries(await installPeers(namesGiven(process.argv.slice(2))))) {
      process.stdout.write(`${name}\t${path}\n`)
    }
  } catch (error) {
    if (!(error instanceof PeerInstallError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
