import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import {
  maliciousController,
  type MaliceSettings,
  type Means,
} from '../../../packages/control-plane/controllers/malicious-controller.ts'
import { deployment } from '../../../packages/control-plane/manifests.ts'
import { QUIET_MS, WEB } from './changes.ts'
import { findThroughCauseway } from './play.ts'
import type { Finding, TraceabilityRow } from './traceability-row.ts'

const API = { name: 'api', namespace: 'default' }

/** Two Deployments that share a Service, as the old and the new of an application might. */
async function twoScaled(plane: ControlPlane): Promise<void> {
  await plane.kubectl.create('v1/services', shared)
  await plane.kubectl.create('apps/v1/deployments', partOfShop('web'))
  await plane.kubectl.create('apps/v1/deployments', partOfShop('api'))
  await plane.settled(QUIET_MS)
  await plane.kubectl.scale(WEB, 5)
  await plane.kubectl.setImage(API, 'api:2.0')
  await plane.settled(QUIET_MS)
}

const shared = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'shop', namespace: 'default' },
  spec: { selector: { part: 'shop' }, ports: [{ port: 80 }] },
}

function partOfShop(name: string) {
  const draft = deployment(name, 1)
  const template = { ...draft.spec.template, metadata: { labels: { app: name, part: 'shop' } } }
  return { ...draft, spec: { ...draft.spec, template } }
}

function find(
  malice: Pick<MaliceSettings, 'malice' | 'resource'>,
  most = 1_000,
  seeds?: readonly number[],
): Promise<Finding> {
  return findThroughCauseway('kubectl scale', twoScaled, {
    others: { 'malicious-controller': (means: Means) => maliciousController({ ...means, ...malice, most }) },
    ...(seeds !== undefined && { seeds }),
  })
}

/** A controller that means harm, or has a bug; asked from the scaling of one of two Deployments, of a real Causeway. */
export const MALICIOUS: readonly TraceabilityRow[] = [
  {
    change: 'a controller puts CPIDs that nobody knows on Pods',
    traced: 'partly',
    how: 'Where it is quicker than the next controller, the propagation ends there; what comes later begins with a stranger. Each such CPID is one that no mergelog explains.',
    paper: '6.4.2: changes are no longer traceable where an incorrect CPID is placed',
    find: () => find({ malice: 'wrong-cpids', resource: 'v1/pods' }),
  },
  {
    change: 'a controller lists strangers as ancestors on a Service',
    traced: 'partly',
    how: 'The Endpoints controller believes that the Service descends from the Deployment it selects, and sends no mergelog that names it. Claims that contradict each other are not believed, so it takes one that stands alone.',
    paper: '6.4.2: a merge is considered unnecessary, and the mergelog is not sent',
    find: () => find({ malice: 'false-ancestors', resource: 'v1/services' }),
  },
  {
    change: 'a controller puts CPIDs on Deployments that, by its mergelogs, come from a stranger too',
    traced: 'partly',
    how: 'Nothing is lost, but what follows from the stranger is found too. The mergelog names who sent it (`service.name`), so an auditor can tell the lie.',
    paper: '6.4.2: changes that are not related are merged',
    find: () => find({ malice: 'false-ties' }),
  },
  {
    change: 'a controller sends mergelogs that contradict known ones, name themselves or make no sense',
    traced: 'yes',
    how: 'Causeway refuses each with its reason, and keeps it in audit_rejected_mergelogs: the first mergelog of a CPID counts.',
    paper: '6.4.2: incorrect mergelogs change the graph; these do not',
    find: () => find({ malice: 'false-mergelogs' }),
  },
  {
    change: 'a controller sends 5,000 mergelogs and spans of changes that never were',
    traced: 'yes',
    how: 'All are kept, since none can be told from an honest one, and nothing honest is lost or tied wrongly: a flood costs disk, which retention bounds, and time.',
    paper: '6.4.2: a flood takes resources of the trace server; sampling is no way out',
    find: () => find({ malice: 'flood' }, 5_000, [1]),
  },
]
