// Plays stories on a real cluster and records what its watches and its audit log tell, beside who meant what.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { createGzip } from 'node:zlib'
import { optionsGiven, oneOf } from '../../harness/command-options.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { Cluster } from '../../harness/kubernetes/cluster.ts'
import { Recorder } from './recorder.ts'
import { STORIES_WITH_NODES } from './stories-with-nodes.ts'
import { STORIES } from './stories.ts'
import { Scene, USERS, type Story } from './story.ts'

const USAGE = `node bin/node.js lab/evaluation/truth/play-stories.ts --out <folder> [options]
  --out <folder>  where watch.jsonl.gz, audit.jsonl.gz and truth.jsonl go
  --only <story>  may be given again; all of them unless given
  --then <file>   a program to run when the stories are over, before the recording ends; finds the cluster by KUBECONFIG`

const KUBECTL = 'kubectl/v1.36.3 (linux/amd64) kubernetes/0000000'
const DEPLOYBOT = 'deploybot/1.0'
/** So that one step is under way while the next is taken, as on a machine with kubelets. */
const KUBELET_DELAY_MS = [900, 3_100] as const

const ALL: readonly Story[] = [...STORIES_WITH_NODES, ...STORIES]

interface Options {
  readonly out: string
  readonly stories: readonly Story[]
  readonly then: string | undefined
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      out: { type: 'string' },
      only: { type: 'string', multiple: true },
      then: { type: 'string' },
    },
  })
  const { out, only, then } = values
  if (out === undefined) throw new Error('--out is missing: write where the recording goes')
  const names = ALL.map(({ name }) => name)
  const chosen = new Set(only?.map((name) => oneOf('--only', names, name)) ?? names)
  return { out, stories: ALL.filter(({ name }) => chosen.has(name)), then }
}

async function record({ out, stories, then }: Options): Promise<void> {
  mkdirSync(out, { recursive: true })
  const truth = join(out, 'truth.jsonl')
  rmSync(truth, { force: true })
  using directory = freshDirectory(tmpdir())
  await using cluster = await Cluster.start(join(directory.path, 'cluster'), {
    users: Object.fromEntries(USERS.map((user) => [user, []])),
    auditLevel: 'RequestResponse',
    kubeletDelayMs: KUBELET_DELAY_MS,
  })
  const apiOf = (user: string, program: string) => cluster.api(user, new Agent({ keepAlive: true }), program)
  const apis = {
    admin: apiOf('admin', KUBECTL),
    alice: apiOf('alice', KUBECTL),
    bob: apiOf('bob', KUBECTL),
    carol: apiOf('carol', DEPLOYBOT),
  }
  const recorder = await Recorder.start(apis.admin, join(out, 'watch.jsonl.gz'))
  const play = async ({ name, play }: Story): Promise<void> => {
    const scene = new Scene(name, apis, recorder, truth)
    await scene.begin()
    await play(scene)
    console.log(`${name}${scene.refused === 0 ? '' : `: ${scene.refused} steps were refused`}`)
  }
  for (const story of stories) if (story.hasNodes) await play(story)
  await Promise.all(stories.filter(({ hasNodes }) => !hasNodes).map(play))
  if (then !== undefined) {
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig() }
    await once(spawn(then, { env, stdio: 'inherit' }), 'exit')
  }
  await recorder[Symbol.asyncDispose]()
  await pipeline(
    createReadStream(cluster.auditLog),
    createGzip(),
    createWriteStream(join(out, 'audit.jsonl.gz')),
  )
  console.log(`${recorder.versions} versions`)
}

const options = optionsGiven(USAGE, readOptions)
if (options !== undefined) await record(options)
