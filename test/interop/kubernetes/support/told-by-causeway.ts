import type { Causeway } from '../../support/causeway.ts'
import { isOfStory, serviceShown, whatBegan, type ToldCascade } from './told.ts'

interface Row {
  root: string
  episode: number
  cause: string
  name: string
  service: string
  actor: string
  object: string
  uid: string
}

const PARTS: Readonly<Record<string, string>> = {
  create: 'creation',
  delete: 'deletion',
  patch: 'authored',
  update: 'authored',
}

/** What Causeway stored of cascades that wrote in a namespace, as auditors ask for it: what each of them drove. */
export function toldByCauseway(causeway: Causeway, namespace: string): ToldCascade[] {
  const rows = causeway.stored<Row>(
    `SELECT s.root, s.episode, s.cause, s.name, s.service, s.actor, e.object, e.object_uid AS uid
     FROM audit_cascade_spans s JOIN audit_object_events e ON e.span_id = s.span_id AND e.action = 'wrote'
     WHERE s.cause IS NOT NULL AND s.activity = 'yes' AND s.copy = 'no'
       AND (e.object LIKE '%/${namespace}/%' OR e.object LIKE '%/${namespace}')
     ORDER BY s.start, s.span_id`,
  )
  const driven = Map.groupBy(rows, ({ root }) => root)
  return [...driven.values()].flatMap((of) => {
    const began = of.find(({ cause }) => cause === 'operator')
    if (began === undefined) return []
    const cascade = cascadeOf(began, of)
    return isOfStory(cascade.began) ? [cascade] : []
  })
}

function cascadeOf(began: Row, rows: readonly Row[]): ToldCascade {
  const objects = new Set(rows.map(({ object, uid }) => `${resourceOf(object)} ${uid}`))
  const counts = Map.groupBy(objects, (object) => object.split(' ', 1).join())
  const [verb = ''] = began.name.split(' ', 1)
  return {
    began: whatBegan(PARTS[verb] ?? verb, resourceOf(began.object), began.object.split('/').at(-1) ?? ''),
    by: began.actor,
    services: [...new Set(rows.map(({ service }) => serviceShown(service)))].sort(),
    objects: Object.fromEntries([...counts].map(([resource, of]) => [resource, of.length])),
  }
}

/** `apps/v1/deployments/shop/web`: groups have a dot or a version behind them, resources neither. */
function resourceOf(object: string): string {
  const parts = object.split('/')
  return parts[parts.findIndex((part) => /^v\d/.test(part)) + 1] ?? ''
}
