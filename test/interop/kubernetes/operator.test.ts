import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { CLIENT_VERSION, OLDER_CLIENT_VERSION } from '../../../lab/peers/install-client.ts'
import { OtlpSink, type Arrived } from '../../../lab/harness/sinks/otlp-sink.ts'
import { operatorFolder } from '../../../lab/harness/kubernetes/operator-folder.ts'
import { CONTROLLER_TYPES } from '../support/controller-types.ts'
import { type Scene, sceneTest } from '../support/scene.ts'
import { cpidOf, DEPLOYMENT, OperatorStage, WEB_APPS, webApp, type Kept } from './support/operator-stage.ts'

const run = promisify(execFile)
const EXAMPLES = new URL('../../../examples/operator/', import.meta.url)
const MOST_LINES_MORE = 15
const LONGEST_MS = 90_000
/** How often a patch is tried that the operator cannot carry out. */
const PATCHES = 3
const LONGEST_STOP_MS = 60_000

const LANGUAGES = ['TypeScript', 'Go'] as const
type Language = (typeof LANGUAGES)[number]
const RECONCILES = { TypeScript: 'reconcile WebApp', Go: 'reconcile webapp' }

const mergelogsIn = (sink: OtlpSink): Arrived[] => sink.records.filter(({ name }) => name === 'cpid.mergelog')
const writesIn = (sink: OtlpSink): Arrived[] =>
  sink.spans.filter(({ name }) => /^(?:create|update|patch|delete) /.test(name))

/** A cluster with the operator's resource, and the operator, which sends to the sink. */
async function stage(scene: Scene) {
  const sink = scene.use(await OtlpSink.open())
  const stage = await OperatorStage.set(scene, sink.endpoint)
  const { cluster, api, folder } = stage
  const start = stage.start.bind(stage)
  const begin = (language: Language) => (language === 'Go' ? stage.startGo() : start())
  return { sink, cluster, api, start, begin, ready: stage.ready.bind(stage), folder }
}

sceneTest(
  'a status that Kubernetes wrote is told where it woke the operator, once, and after what',
  async (scene) => {
    const { sink, api, start, ready, folder } = await stage(scene)
    const file = join(folder, 'web-app-instrumented.ts')
    const plain = await readFile(file, 'utf8')
    const telling = plain.replace(
      'traceCluster(plainConfig)',
      'traceCluster(plainConfig, { tellsStatusWrites: true })',
    )
    expect(telling).not.toBe(plain)
    await writeFile(file, `${telling}\nconsole.log('All is followed.')\n`)
    const operator = start()
    // A status that was written before the operator listed its Deployments wakes nobody.
    await scene.eventually(() => expect(operator.printed).toContain('All is followed.'))
    await api.create(WEB_APPS, webApp(2))
    await ready(2)
    const told = (): Arrived[] => sink.spans.filter(({ name }) => name === 'write apps/v1/deployments/status')
    const wrote = (): string[] => told().map(({ attributes }) => attributes['cpid.wrote'] ?? '')
    await scene.eventually(() => {
      const reconciles = sink.spans.filter(({ name }) => name === 'reconcile WebApp')
      const woken = reconciles.map(({ attributes }) => attributes['cpid.observed'] ?? '')
      const created = writesIn(sink).find(({ name }) => name === 'create apps/v1/deployments')
      expect(wrote()).not.toEqual([])
      for (const version of wrote()) expect(woken.some((of) => of.split(',').includes(version))).toBe(true)
      expect(new Set(told().map(({ attributes }) => attributes['cpid.observed']))).toEqual(
        new Set([created?.attributes['cpid.wrote']]),
      )
    })
    // It sends what it has left before it ends.
    expect(await operator.stop(LONGEST_STOP_MS)).toBe(0)
    expect(new Set(wrote()).size).toBe(wrote().length)
  },
)

for (const language of LANGUAGES) {
  sceneTest(
    `what an operator does is of the change that it follows from, whoever made that (${language})`,
    async (scene) => {
      const { sink, api, cluster, begin, ready } = await stage(scene)
      await begin(language)
      await api.create(WEB_APPS, webApp(2))
      const app = await ready(2)
      const [created, ...others] = await scene.eventually(() => {
        expect(mergelogsIn(sink)).toHaveLength(1)
        return mergelogsIn(sink)
      })
      expect(others).toEqual([])
      expect(created?.attributes).toMatchObject({
        'cpid.sources': '',
        'cpid.object': expect.stringContaining(
          `example.com/v1/webapps/default/web?uid=${app.metadata.uid}&rv=`,
        ),
        'cpid.reason': 'unattributed writer',
      })
      const root = created?.attributes['cpid.new'] ?? ''
      expect(cpidOf(await api.get<Kept>(DEPLOYMENT))).toBe(root)
      expect(cpidOf(await api.get<Kept>('/api/v1/namespaces/default/services/web'))).toBe(root)
      await scene.eventually(() => {
        const names = writesIn(sink).map(({ name }) => name)
        expect(names).toEqual(
          expect.arrayContaining([
            'create apps/v1/deployments',
            'create v1/services',
            'update example.com/v1/webapps/status',
          ]),
        )
        // It ends after the last write in it, and may be sent with what comes later.
        const [reconcile] = sink.spans.filter(({ name }) => name === RECONCILES[language])
        expect(reconcile?.attributes['cpid.observed']).toMatch(
          new RegExp(`^example.com/v1/webapps/default/web\\?uid=${app.metadata.uid}&rv=\\d+$`),
        )
      })
      expect(new Set(sink.spans.map(({ attributes }) => attributes['cpid.id']))).toEqual(new Set([root]))
      expect(writesIn(sink)[0]?.attributes['cpid.wrote']).toMatch(
        /^apps\/v1\/deployments\/default\/web\?uid=.*&rv=\d+$/,
      )

      // Somebody without any instrumentation changes it, and then goes behind the operator's back.
      await cluster.kubectl(
        'admin',
        'patch',
        'webapp/web',
        '--type=merge',
        '--patch',
        '{"spec":{"replicas":3}}',
      )
      await ready(3)
      await cluster.kubectl('admin', 'scale', 'deployment/web', '--replicas=1')
      await scene.eventually(async () => {
        const { spec, status } = await api.get<Kept>(DEPLOYMENT)
        expect([spec.replicas, status?.readyReplicas]).toEqual([3, 3])
        const last = cpidOf(await api.get<Kept>(DEPLOYMENT))
        expect(mergelogsIn(sink).at(-1)?.attributes['cpid.new']).toBe(last)
      }, LONGEST_MS)
      const begun = mergelogsIn(sink).filter(({ attributes }) => attributes['cpid.sources'] === '')
      expect(begun.map(({ attributes }) => attributes['cpid.object']?.replace(/\?.*/, ''))).toEqual([
        'example.com/v1/webapps/default/web',
        'example.com/v1/webapps/default/web',
        'apps/v1/deployments/default/web',
      ])
      const [, patched, scaled] = begun.map(({ attributes }) => attributes['cpid.new'])
      const merges = mergelogsIn(sink).filter(({ attributes }) => attributes['cpid.sources'] !== '')
      expect(merges.map(({ attributes }) => attributes['cpid.sources']?.split(','))).toEqual([
        expect.arrayContaining([patched, root]),
        expect.arrayContaining([scaled, merges[0]?.attributes['cpid.new']]),
      ])

      // What the API server never takes is of what it follows from, and not of a merge that nobody hears of. A status that the patch
      // overtakes wakes the operator too: then it follows from both, and the next patch is looked at.
      for (let attempt = 1; ; attempt++) {
        const patch = JSON.stringify({ spec: { replicas: -attempt } })
        await cluster.kubectl('admin', 'patch', 'webapp/web', '--type=merge', '--patch', patch)
        try {
          await scene.eventually(() => {
            const refused = writesIn(sink).findLast(({ attributes }) => attributes['error.type'] === '422')
            expect(refused?.name).toBe('update apps/v1/deployments')
            // Spans and mergelogs are sent by themselves, in whichever order.
            const last = mergelogsIn(sink).at(-1)?.attributes
            expect(last).toMatchObject({ 'cpid.sources': '', 'cpid.new': refused?.attributes['cpid.id'] })
          }, LONGEST_MS / PATCHES)
          break
        } catch (error) {
          if (attempt === PATCHES) throw error
        }
      }
    },
  )

  sceneTest(
    `an operator that is killed in the middle goes on, and tells of nothing that was not written (${language})`,
    async (scene) => {
      const { sink, api, begin, ready } = await stage(scene)
      const first = await begin(language)
      await api.create(WEB_APPS, webApp(1))
      await ready(1)
      await scene.eventually(() => expect(mergelogsIn(sink)).toHaveLength(1))
      await first.kill()
      await api.patch(`${WEB_APPS}/web`, { spec: { replicas: 2 } })
      const seen = new Set<string>()
      const second = await begin(language)
      // Somebody writes the Deployment all the time: most of what the operator writes is refused.
      for (let round = 0; round < 40; round++) {
        const annotations = { round: String(round) }
        const { metadata } = await api.patch<Kept>(DEPLOYMENT, { metadata: { annotations } })
        seen.add(cpidOf({ metadata } as Kept))
      }
      await ready(2)
      seen.add(cpidOf(await api.get<Kept>(DEPLOYMENT)))
      // It sends what it has left before it ends: spans and mergelogs are sent by themselves.
      expect(await second.stop(LONGEST_STOP_MS)).toBe(0)
      const told = mergelogsIn(sink).map(({ attributes }) => attributes['cpid.new'])
      expect(told).toEqual(expect.arrayContaining([...seen]))
      // Writes that were refused are of what they followed from.
      expect(sink.spans.filter(({ attributes }) => !told.includes(attributes['cpid.id']))).toEqual([])
      const merged = mergelogsIn(sink).filter(({ attributes }) => attributes['cpid.sources'] !== '')
      expect(merged.map(({ attributes }) => attributes['cpid.new'])).toEqual([
        cpidOf(await api.get<Kept>(DEPLOYMENT)),
      ])
    },
  )
}

sceneTest(
  'a summary of many Deployments is of the change that was made last, and goes with them',
  async (scene) => {
    const { sink, api, cluster, start } = await stage(scene)
    const operator = start('summary')
    const make = (name: string) =>
      cluster.kubectl('admin', 'create', 'deployment', name, '--image=nginx:1', '--namespace=many')
    const summary = () =>
      api.get<Kept & { data: object }>('/api/v1/namespaces/many/configmaps/deployments-ready')
    await api.create('/api/v1/namespaces', { metadata: { name: 'many' } })
    const names = Array.from({ length: 15 }, (_, number) => `app-${number}`)
    for (const name of names) await make(name)
    await scene.eventually(async () => {
      expect((await summary()).data).toEqual(Object.fromEntries(names.map((name) => [name, '1'])))
    }, LONGEST_MS)
    await make('one-more')
    await scene.eventually(async () => {
      const { data, ...last } = await summary()
      expect(data).toMatchObject({ 'one-more': '1' })
      expect(mergelogsIn(sink).at(-1)?.attributes['cpid.new']).toBe(cpidOf(last))
    }, LONGEST_MS)
    const sourcesOf = (of: Arrived | undefined): string[] => of?.attributes['cpid.sources']?.split(',') ?? []
    // What the summary came from before is not told again and again, though no object has room for all of it.
    expect(sourcesOf(mergelogsIn(sink).at(-1))).toHaveLength(2)

    const { metadata } = await summary()
    await cluster.kubectl('admin', 'delete', 'deployment', '--all', '--namespace=many')
    await scene.eventually(() => expect(summary()).rejects.toThrow('404'), LONGEST_MS)
    await scene.eventually(() => {
      const deletion = sink.spans.find(({ name }) => name === 'delete v1/configmaps')
      const [mark, deleted] = deletion?.attributes['cpid.wrote']?.split(',') ?? []
      expect(mark).toMatch(new RegExp(`^v1/configmaps/many/deployments-ready\\?uid=${metadata.uid}&rv=`))
      expect(deleted).toBe(`v1/configmaps/many/deployments-ready?uid=${metadata.uid}`)
      const merged = mergelogsIn(sink).find(
        ({ attributes }) => attributes['cpid.new'] === deletion?.attributes['cpid.id'],
      )
      const told = mergelogsIn(sink).filter(({ attributes }) =>
        sourcesOf(merged).includes(attributes['cpid.new'] ?? ''),
      )
      // What the summary was, and the deletions that it followed from.
      expect(told.map(({ attributes }) => attributes['cpid.reason'])).toEqual(
        expect.arrayContaining(['update v1/configmaps', 'unattributed writer']),
      )
    }, LONGEST_MS)
    await operator.stop(LONGEST_STOP_MS)
    expect(operator.errors).not.toContain('TypeError')
  },
)

const checked = (which: string, client: string): void =>
  sceneTest(
    `the operators type-check with ${which} and the packed library, which loads as ESM and as CommonJS`,
    async (scene) => {
      const folder = await operatorFolder(scene.directory, 'operator', client)
      const types = {
        extends: './tsconfig.json',
        compilerOptions: { verbatimModuleSyntax: false },
        include: ['patches.mts', 'patches.cts'],
      }
      for (const name of types.include) await writeFile(join(folder, name), CONTROLLER_TYPES)
      await writeFile(join(folder, 'tsconfig.patches.json'), JSON.stringify(types))
      for (const project of ['tsconfig.json', 'tsconfig.patches.json']) {
        const args = [join(folder, 'node_modules/typescript/bin/tsc'), '--project', join(folder, project)]
        await run(process.execPath, args, { cwd: folder })
      }
      // The Node that Causeway runs on, and the one that this machine has, which may be older.
      for (const node of [process.execPath, 'node']) {
        for (const [type, load] of [
          ['module', "import { traceCluster } from 'causeway-instrumentation/kubernetes'"],
          ['commonjs', "const { traceCluster } = require('causeway-instrumentation/kubernetes')"],
        ]) {
          const code = `${load}\nconsole.log(typeof traceCluster)`
          const { stdout } = await run(node, [`--input-type=${type}`, '--eval', code], { cwd: folder })
          expect(stdout).toBe('function\n')
        }
      }
    },
  )
checked('the newest client', CLIENT_VERSION)
checked('the newest client that runs with Node 20', OLDER_CLIENT_VERSION)

sceneTest('an operator with the client that runs with Node 20 is instrumented too', async (scene) => {
  const sink = scene.use(await OtlpSink.open())
  const stage = await OperatorStage.set(scene, sink.endpoint, { client: OLDER_CLIENT_VERSION })
  const operator = await stage.startCompiled('web-app')
  await stage.api.create(WEB_APPS, webApp(1))
  await stage.ready(1)
  await stage.cluster.kubectl('admin', 'delete', 'deployment', 'web')
  await stage.ready(1)
  await scene.eventually(() => {
    expect(mergelogsIn(sink).map(({ attributes }) => attributes['cpid.reason'])).toEqual([
      'unattributed writer',
      'unattributed writer',
      'create apps/v1/deployments',
    ])
    const [deleted] = sink.spans.filter(({ name }) => name === 'delete apps/v1/deployments')
    expect(deleted?.attributes['cpid.wrote']).toMatch(/^apps\/v1\/deployments\/default\/web\?uid=/)
  }, LONGEST_MS)
  await operator.stop(LONGEST_STOP_MS)
  expect(operator.errors).not.toContain('TypeError')
})

test.each(['web-app', 'summary'])(
  'the operator %s becomes an instrumented one with a few lines',
  async (name) => {
    const [plain = [], instrumented = []] = await Promise.all(
      ['plain', 'instrumented'].map(async (kind) => {
        const text = await readFile(new URL(`${name}-${kind}.ts`, EXAMPLES), 'utf8')
        return text.split('\n').filter((line) => line.trim() !== '')
      }),
    )
    expect(instrumented.length).toBeGreaterThan(plain.length)
    expect(instrumented.length - plain.length).toBeLessThanOrEqual(MOST_LINES_MORE)
  },
)
