import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { sceneTest } from '../support/scene.ts'
import { deployment } from './support/manifests.ts'
import { Stage } from './support/stage.ts'
import { cascadesIn, preparedCommands } from './support/told-commands.ts'

sceneTest(
  'each command is one root change, and its cascade holds what controllers made of it',
  async (scene) => {
    const { causeway, kubectl } = await preparedCommands(scene)
    const folder = join(scene.directory, 'manifests')
    await mkdir(folder)
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    }
    const settings = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings' },
      data: { colour: 'blue' },
    }
    for (const [name, object] of Object.entries({ deployment: deployment('web', 2), service, settings }))
      await writeFile(join(folder, `${name}.json`), JSON.stringify(object))
    const stage = new Stage('shop', kubectl.cluster, scene.directory)
    // kubectl waits for the Deployment alone: what controllers do then is to be of this change, and not of the next one too.
    const rolledOut = async (replicas: number): Promise<void> => {
      await kubectl.done('', {}, 'rollout', 'status', 'deployment/web', '--timeout=90s')
      await stage.rolledOut('web', replicas)
      await stage.endpointsAre('web', replicas)
    }

    const applied = await kubectl.done('applied', {}, 'apply', '-f', folder)
    expect(applied.trim().split('\n').sort()).toEqual([
      'configmap/settings created',
      'deployment.apps/web created',
      'service/web created',
    ])
    await rolledOut(2)
    await kubectl.done('scaled', {}, 'scale', 'deployment/web', '--replicas=3')
    await rolledOut(3)
    await kubectl.done('imaged', {}, 'set', 'image', 'deployment/web', 'main=nginx:2')
    await rolledOut(3)
    await kubectl.done('undone', {}, 'rollout', 'undo', 'deployment/web')
    await rolledOut(3)
    await kubectl.done('deleted', {}, 'delete', 'deployment/web', 'service/web')

    await scene.eventually(() => {
      const workload = ['deployments', 'pods', 'replicasets']
      expect(cascadesIn(causeway)).toEqual({
        applied: [
          'configmaps',
          'deployments',
          'endpoints',
          'endpointslices',
          'pods',
          'replicasets',
          'services',
        ],
        scaled: [...workload, 'endpoints', 'endpointslices'].sort(),
        imaged: [...workload, 'endpoints', 'endpointslices'].sort(),
        undone: [...workload, 'endpoints', 'endpointslices'].sort(),
        deleted: [...workload, 'endpoints', 'endpointslices', 'services'].sort(),
      })
    }, 90_000)
    expect((await readdir(scene.directory)).filter((name) => name.startsWith('causeway-kubectl-'))).toEqual(
      [],
    )
  },
)

sceneTest(
  'whatever kubectl writes with, the object carries the change that Causeway is told of',
  async (scene) => {
    const { causeway, kubectl } = await preparedCommands(scene)
    const file = join(scene.directory, 'web.json')
    await writeFile(file, JSON.stringify(deployment('web', 1)))
    const editor = join(scene.directory, 'editor.sh')
    await writeFile(editor, '#!/bin/sh\nsed -i s/tier:.front/tier:\\ back/ "$1"\n', { mode: 0o755 })
    const commands: [string, ...string[]][] = [
      ['made', 'create', 'deployment', 'web', '--image=nginx:1'],
      ['applied', 'apply', '-f', file],
      ['applied server-side', 'apply', '--server-side', '--force-conflicts', '-f', file],
      ['applied again', 'apply', '--server-side', '-f', file],
      ['labelled', 'label', 'deployment/web', 'tier=front'],
      ['edited', 'edit', 'deployment/web'],
      [
        'patched',
        'patch',
        'deployment/web',
        '--type=json',
        '-p',
        '[{"op":"replace","path":"/spec/replicas","value":2}]',
      ],
      ['scaled', 'scale', 'deployment/web', '--current-replicas=2', '--replicas=1'],
      ['restarted', 'rollout', 'restart', 'deployment/web'],
      ['autoscaled', 'autoscale', 'deployment/web', '--max=1'],
      ['exposed', 'expose', 'deployment/web', '--port=80'],
      ['replaced', 'replace', '--force', '-f', file],
    ]
    interface Carrier {
      metadata: { annotations: Record<string, string> }
    }
    const carried: string[] = []
    for (const [reason, ...args] of commands) {
      const resource =
        new Map([
          ['autoscaled', 'hpa'],
          ['exposed', 'service'],
        ]).get(reason) ?? 'deployment'
      await kubectl.done(reason, { KUBE_EDITOR: editor }, ...args)
      const said = await kubectl.cluster.kubectl('alice', '-n', 'shop', 'get', resource, 'web', '-o', 'json')
      const { annotations } = (JSON.parse(said) as Carrier).metadata
      carried.push(annotations['causeway.io/cpid'] ?? '')
      expect(annotations['kubectl.kubernetes.io/last-applied-configuration'] ?? '').not.toContain(
        'causeway.io',
      )
    }
    // Some commands write an object several times, as server-side apply does that takes over what client-side apply made.
    const others = causeway.stored<{ reason: string; object: string }>(
      "SELECT reason, object FROM audit_mergelogs WHERE reason LIKE 'authored by kubectl%' AND object LIKE '%/shop/%'",
    )
    expect(others).toEqual([])
    const told = causeway.stored<{ reason: string; cpid: string }>(
      "SELECT reason, cpid FROM audit_mergelogs WHERE service = 'kubectl' AND reason NOT LIKE '% by %'",
    )
    expect(new Map(told.map(({ reason, cpid }) => [reason, cpid]))).toEqual(
      new Map(commands.map(([reason], index) => [reason, carried[index]])),
    )
  },
)
