import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { sceneTest } from '../support/scene.ts'
import { cascadesOf } from './support/told-cascades.ts'

const run = promisify(execFile)
const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url))
const STEP = /^In `([^`]+)`, (after|before|instead of) `([^`]+)`:\n\n```go\n(.*?)^```$|^```sh\n(.*?)^```$/gms
const STARTS_OPERATOR = /go run .*main\.go$/
const MOST_LINES = 10
const LONGEST_MS = 120_000
/** Its reader waits for Go to compile Kubernetes' libraries: once for an empty cache, on few cores. */
const LONGEST_COMPILATION_MS = 600_000
const LONGEST_TEST_MS = 1_200_000

const MADE = '/api/v1/namespaces/default/configmaps/first'

interface Made {
  data: Record<string, string>
}

interface Edit {
  readonly file: string
  readonly where: string
  readonly place: string
  readonly lines: string
}

/** What the guide has its reader do, in its order: a file to edit, or a command to type. */
function stepsOf(guide: string): (Edit | string)[] {
  return [...guide.matchAll(STEP)].flatMap(
    ([, file = '', where = '', place = '', lines = '', commands]): (Edit | string)[] =>
      commands === undefined ? [{ file, where, place, lines }] : commands.trim().split('\n'),
  )
}

async function edit(folder: string, { file, where, place, lines }: Edit): Promise<void> {
  const path = join(folder, file)
  const text = await readFile(path, 'utf8')
  const [before = '', after, ...more] = text.split(place)
  // The guide names one place.
  expect([file, place, after === undefined, more.length]).toEqual([file, place, false, 0])
  const [first, last] = where === 'after' ? [`${place}\n`, ''] : ['', where === 'before' ? place : '']
  await writeFile(path, `${before}${first}${lines}${last}${after ?? ''}`)
}

sceneTest(
  'an operator of kubebuilder is traced by what the guide says, from an empty folder',
  async (scene) => {
    const guide = await readFile(join(CHECKOUT, 'go/README.md'), 'utf8')
    const [, made = '', traced = ''] = guide.split(/^## (?=An ordinary operator|Ten lines|What it does)/m)
    const added = stepsOf(traced.split(/^## /m)[0] ?? '').flatMap((step) =>
      typeof step === 'string' ? [] : step.lines.split('\n').filter((line) => line.trim() !== ''),
    )
    expect(added).toHaveLength(MOST_LINES)

    const backend = scene.use(await TraceBackend.up())
    // Nothing of the cluster is watched: what is known is told.
    const causeway = await Causeway.start(scene, {
      exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
    })
    const cluster = scene.use(await Cluster.start(join(scene.directory, 'cluster'), { nodes: 1 }))
    const folder = join(scene.directory, 'canary')
    const programs = join(scene.directory, 'bin')
    await mkdir(folder)
    await symlink(CHECKOUT, join(scene.directory, 'causeway'))
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      ...{ GOWORK: 'off', GOBIN: programs, CGO_ENABLED: '0', KUBECONFIG: cluster.kubeconfig() },
      KUBECACHEDIR: join(scene.directory, 'kubectl-cache'),
      PATH: [programs, dirname(cluster.program('kubectl')), process.env['PATH'] ?? ''].join(delimiter),
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://${causeway.otlpHttp}`,
    }
    for (const step of stepsOf(made + traced)) {
      if (typeof step !== 'string') await edit(folder, step)
      else if (!STARTS_OPERATOR.test(step)) {
        await run('sh', ['-c', step], { cwd: folder, env })
        const [, foo] = /"foo":"(\w+)"/.exec(step) ?? []
        if (foo === undefined) continue
        // Nobody types so fast that the operator finds two changes at once.
        await scene.eventually(async () =>
          expect((await cluster.api().get<Made>(MADE)).data).toEqual({ foo }),
        )
      } else {
        // Its usual port may be another's here.
        const command = `${step} --health-probe-bind-address=127.0.0.1:0`
        const operator = scene.use(
          new RunningProgram({
            name: 'operator',
            command: 'sh',
            args: ['-c', command],
            directory: folder,
            env,
          }),
        )
        await scene.eventually(
          () => expect(operator.errors).toContain('Starting workers'),
          LONGEST_COMPILATION_MS,
        )
      }
    }

    const kind = 'guide.example.com/v1/canaries'
    const acted = (verb: string, under: string): string[] => [
      `reconcile canary < ${under}`,
      `${verb} v1/configmaps < reconcile canary`,
    ]
    await scene.eventually(() => {
      expect(cascadesOf(causeway, 'canary-operator')).toEqual([
        // The ConfigMap of the first change was changed by the second.
        [
          `write ${kind} < its change`,
          ...['create', 'update'].flatMap((verb) => acted(verb, `write ${kind}`)),
        ].sort(),
        [`write ${kind} < its change`, ...acted('update', `write ${kind}`)].sort(),
      ])
    }, LONGEST_MS)
  },
  LONGEST_TEST_MS,
)
