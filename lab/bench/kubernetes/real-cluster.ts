import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Authority } from '../../harness/certificates.ts'
import { Cluster } from '../../harness/kubernetes/cluster.ts'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { epochMs } from '../load/messages.ts'

const AUDIT_POLICY = fileURLToPath(new URL('../../../examples/kubernetes/audit-policy.yaml', import.meta.url))
const OBJECTS = 20
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
/** The namespace whose writes are admitted by Causeway, and the one whose are not. */
export const ADMITTED = 'admitted'
export const PLAIN = 'plain'

/** A patch that the API server answered. */
export interface Patched {
  readonly version: number
  readonly beganMs: number
  readonly endedMs: number
}

interface Answer {
  readonly metadata: { readonly resourceVersion: string }
}

/** A real control plane, with Deployments without Pods in two namespaces. */
export class RealCluster implements AsyncDisposable {
  readonly cluster: Cluster
  readonly #api: KubeApi
  readonly #connections = new Agent({ keepAlive: true })
  #turn = 0

  private constructor(cluster: Cluster) {
    this.cluster = cluster
    this.#api = cluster.api('alice', this.#connections)
  }

  static async start(directory: string): Promise<RealCluster> {
    const cluster = await Cluster.start(directory, {
      users: { alice: ['developers'] },
      auditPolicy: readFileSync(AUDIT_POLICY, 'utf8'),
    })
    for (const name of [ADMITTED, PLAIN]) {
      await cluster.api().create('/api/v1/namespaces', { metadata: { name, labels: { bench: name } } })
      for (let at = 0; at < OBJECTS; at++)
        await cluster.api().create(`/apis/apps/v1/namespaces/${name}/deployments`, deployment(`web-${at}`))
    }
    return new RealCluster(cluster)
  }

  /** Has the API server ask a webhook about what is written in one of the namespaces; returns files with its certificate. */
  async admitBy(port: number, directory: string): Promise<{ cert: string; key: string }> {
    const authority = new Authority('an authority of a webhook')
    const issued = authority.issue()
    const files = { cert: join(directory, 'admission.crt'), key: join(directory, 'admission.key') }
    writeFileSync(files.cert, issued.cert)
    writeFileSync(files.key, issued.key)
    await this.cluster.api().create(WEBHOOKS, webhookAt(port, authority.cert))
    return files
  }

  /** Changes the annotation of one Deployment after another. */
  async patch(namespace: string): Promise<Patched> {
    const turn = this.#turn++
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/web-${turn % OBJECTS}`
    const beganMs = epochMs()
    const { metadata } = await this.#api.patch<Answer>(path, {
      metadata: { annotations: { turn: String(turn) } },
    })
    return { version: Number(metadata.resourceVersion), beganMs, endedMs: epochMs() }
  }

  /** So many a second for some seconds, where no webhook is asked. */
  async patchFor(seconds: number, perSecond: number): Promise<Patched[]> {
    const patched: Patched[] = []
    const startedMs = epochMs()
    for (let at = 0; at < seconds * perSecond; at++) {
      const dueMs = startedMs + (at / perSecond) * 1_000
      if (dueMs > epochMs()) await sleep(dueMs - epochMs())
      patched.push(await this.patch(PLAIN))
    }
    return patched
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connections.destroy()
    await this.cluster[Symbol.asyncDispose]()
  }
}

function deployment(name: string): object {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } }
  return { metadata: { name }, spec: { replicas: 0, selector: { matchLabels: labels }, template } }
}

function webhookAt(port: number, authority: string): object {
  const rule = { apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], scope: '*' }
  return {
    metadata: { name: 'causeway' },
    webhooks: [
      {
        ...{ name: 'record.causeway.io', admissionReviewVersions: ['v1'], sideEffects: 'None' },
        ...{ failurePolicy: 'Ignore', timeoutSeconds: 1, matchPolicy: 'Equivalent' },
        namespaceSelector: { matchLabels: { bench: ADMITTED } },
        rules: [{ ...rule, operations: ['CREATE', 'UPDATE', 'DELETE'] }],
        clientConfig: {
          url: `https://localhost:${port}/admit`,
          caBundle: Buffer.from(authority).toString('base64'),
        },
      },
    ],
  }
}
