import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { Story } from './story.ts'

const WEB = 'apps/v1/deployments/default/web'
const REPLICA_SET = 'apps/v1/replicasets/default/web-7c9'
const POD_A = 'v1/pods/default/web-7c9-a'
const POD_B = 'v1/pods/default/web-7c9-b'
const SERVICE = 'v1/services/default/web'
const ENDPOINTS = 'v1/endpoints/default/web'
const SETTINGS = 'v1/configmaps/default/settings'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/**
 * The database that docs/audit.md asks. From Thursday, 1 January 2026: alice deploys web (1), bob gives it a Service
 * (2), the Endpoints merge both (3). On Saturday, in a cluster that nobody patched, carol scales cart (10). On Monday alice gives it another image (4), which merges into the ReplicaSet (5);
 * the scheduler is slow, a kubelet fails once, and a node agent works without a CPID. On Tuesday bob changes a
 * ConfigMap (6), whose cascade is open when the story ends; a controller works for a change (9) that nobody announced.
 */
export async function exampleDatabase(path: string): Promise<void> {
  using writer = await TestWriter.open({}, path)
  const story = new Story(writer)
  thursday(story)
  saturday(story, new Story(writer, 'test', 1_000), 2 * 24 * HOUR)
  monday(story, 4 * 24 * HOUR + 9 * HOUR)
  tuesday(story, 5 * 24 * HOUR + 10 * HOUR)
}

const at = (object: string, version: number): string => `${object}?uid=${uidOf(object)}&rv=${version}`

function uidOf(object: string): string {
  return [WEB, REPLICA_SET, POD_A, POD_B, SERVICE, ENDPOINTS, SETTINGS]
    .indexOf(object)
    .toString()
    .padStart(4, 'u')
}

function thursday(story: Story): void {
  story.until(20 * MINUTE)
  const t = 20 * MINUTE - 2_000
  const alice = cpid(1)
  story.merge('kubectl', 1, [], t, at(WEB, 100), 'kubectl apply -f web.yaml, by alice')
  story.work({ by: 'kubectl', name: 'kubectl apply', cpid: alice, at: t, took: 40, wrote: [at(WEB, 100)] })
  story.work({
    by: 'deployment-controller',
    name: 'reconcile Deployment',
    cpid: alice,
    at: t + 60,
    took: 50,
    observed: [at(WEB, 100)],
    wrote: [at(REPLICA_SET, 101)],
  })
  story.work({
    by: 'replicaset-controller',
    name: 'reconcile ReplicaSet',
    cpid: alice,
    at: t + 130,
    took: 90,
    observed: [at(REPLICA_SET, 101)],
    wrote: [at(POD_A, 102), at(POD_B, 103)],
  })
  story.work({
    by: 'scheduler',
    name: 'schedule Pod',
    cpid: alice,
    at: t + 240,
    took: 30,
    observed: [at(POD_A, 102)],
    wrote: [at(POD_A, 104)],
  })
  story.work({
    by: 'scheduler',
    name: 'schedule Pod',
    cpid: alice,
    at: t + 280,
    took: 35,
    observed: [at(POD_B, 103)],
    wrote: [at(POD_B, 105)],
  })
  story.work({
    by: 'kubelet',
    name: 'start Pod',
    cpid: alice,
    at: t + 330,
    took: 600,
    observed: [at(POD_A, 104)],
    wrote: [at(POD_A, 106)],
  })
  story.work({
    by: 'kubelet',
    name: 'start Pod',
    cpid: alice,
    at: t + 340,
    took: 640,
    observed: [at(POD_B, 105)],
    wrote: [at(POD_B, 107)],
  })
  story.until(21 * MINUTE)
  const u = 21 * MINUTE - 1_000
  story.merge('kubectl', 2, [], u, at(SERVICE, 110), 'kubectl apply -f service.yaml, by bob')
  story.work({
    by: 'kubectl',
    name: 'kubectl apply',
    cpid: cpid(2),
    at: u,
    took: 30,
    wrote: [at(SERVICE, 110)],
  })
  story.merge('endpoints-controller', 3, [1, 2], u + 200, at(ENDPOINTS, 111), 'reconcile Endpoints')
  story.work({
    by: 'endpoints-controller',
    name: 'reconcile Endpoints',
    cpid: cpid(3),
    at: u + 150,
    took: 80,
    observed: [at(SERVICE, 110), at(POD_A, 106), at(POD_B, 107)],
    wrote: [at(ENDPOINTS, 111)],
  })
}

function saturday(story: Story, outside: Story, t: number): void {
  story.until(t + 5_000)
  const change = cpid(10)
  const [cart, set, pod] = [
    'apps/v1/deployments/shop/cart',
    'apps/v1/replicasets/shop/cart-5d',
    'v1/pods/shop/cart-5d-x',
  ]
  const account = (name: string): string => `system:serviceaccount:kube-system:${name}`
  outside.merge('kubectl', 10, [], t, `${cart}?rv=500`, 'scale by carol')
  outside.work({
    by: 'kubectl',
    name: 'scale apps/v1/deployments',
    cpid: change,
    at: t,
    took: 6,
    wrote: [`${cart}?rv=500`],
    seen: { user: 'carol', cause: 'operator' },
  })
  outside.work({
    by: 'deployment-controller',
    name: 'update apps/v1/replicasets',
    cpid: change,
    at: t + 20,
    took: 5,
    observed: [`${cart}?rv=500`, `${set}?rv=410`],
    wrote: [`${set}?rv=501`],
    seen: { user: account('deployment-controller'), cause: 'exact' },
  })
  outside.work({
    by: 'replicaset-controller',
    name: 'create v1/pods',
    cpid: change,
    at: t + 40,
    took: 8,
    observed: [`${set}?rv=501`],
    wrote: [`${pod}?rv=502`],
    seen: { user: account('replicaset-controller'), cause: 'exact' },
  })
  outside.work({
    by: 'kubelet',
    name: 'update v1/pods status',
    cpid: change,
    at: t + 900,
    took: 7,
    observed: [`${pod}?rv=503`],
    wrote: [`${pod}?rv=504`],
    seen: { user: 'system:node:n1', cause: 'inferred', gap: true },
  })
}

function monday(story: Story, t: number): void {
  story.until(t + 5_000)
  const change = cpid(5)
  story.merge('kubectl', 4, [], t, at(WEB, 200), 'kubectl set image web=web:2, by alice')
  story.work({
    by: 'kubectl',
    name: 'kubectl set image',
    cpid: cpid(4),
    at: t,
    took: 45,
    wrote: [at(WEB, 200)],
  })
  story.merge('deployment-controller', 5, [1, 4], t + 110, at(REPLICA_SET, 201), 'reconcile Deployment')
  story.work({
    by: 'deployment-controller',
    name: 'reconcile Deployment',
    cpid: change,
    at: t + 90,
    took: 60,
    observed: [at(WEB, 200)],
    wrote: [at(REPLICA_SET, 201)],
  })
  story.work({
    by: 'replicaset-controller',
    name: 'reconcile ReplicaSet',
    cpid: change,
    at: t + 200,
    took: 70,
    observed: [at(REPLICA_SET, 201)],
    wrote: [at(POD_A, 202)],
  })
  story.work({
    by: 'scheduler',
    name: 'schedule Pod',
    cpid: change,
    at: t + 900,
    took: 1_400,
    observed: [at(POD_A, 202)],
    wrote: [at(POD_A, 203)],
  })
  story.work({
    by: 'kubelet',
    name: 'start Pod',
    cpid: change,
    at: t + 2_350,
    took: 250,
    observed: [at(POD_A, 203)],
    failed: true,
  })
  story.work({
    by: 'kubelet',
    name: 'start Pod',
    cpid: change,
    at: t + 2_700,
    took: 800,
    observed: [at(POD_A, 203)],
    wrote: [at(POD_A, 204)],
  })
  story.work({ by: 'node-agent', name: 'patch Pod', at: t + 3_000, took: 15, wrote: [at(POD_B, 205)] })
  // A mergelog that names itself, and one that contradicts what is known of change 3.
  story.merge('node-agent', 7, [7], t + 3_100, at(POD_B, 205), 'patch Pod')
  story.merge('endpoints-controller', 3, [1], t + 3_200, at(ENDPOINTS, 111), 'reconcile Endpoints')
}

function tuesday(story: Story, t: number): void {
  story.until(t)
  story.merge('kubectl', 6, [], t - 900, at(SETTINGS, 300), 'kubectl edit configmap settings, by bob')
  story.work({
    by: 'kubectl',
    name: 'kubectl edit',
    cpid: cpid(6),
    at: t - 900,
    took: 35,
    wrote: [at(SETTINGS, 300)],
  })
  story.work({
    by: 'config-reloader',
    name: 'reload',
    cpid: cpid(6),
    at: t - 800,
    took: 300,
    observed: [at(SETTINGS, 300)],
  })
  story.work({ by: 'legacy-operator', name: 'reconcile', cpid: cpid(9), at: t - 700, took: 20 })
  story.until(t + 11_000)
}
