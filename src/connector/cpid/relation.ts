import type { SettingsOf } from '../../config/schema/schema.ts'
import { field, optionalField, refuse, requiredField, type ValueKind } from '../../config/schema/field.ts'
import { choice, TEXT, TEXT_LIST } from '../../config/schema/scalar-kinds.ts'
import { section } from '../../config/schema/section.ts'
import { describeNode, textOf } from '../../config/tree/raw-node.ts'
import { present } from '../../config/parts/present.ts'
import type { RelationSettings } from '../../model/kubernetes/relation-settings.ts'

const PARTS = ['creation', 'authored', 'status', 'deletion']

const PLURAL = matching('plural', /^[a-z][a-z0-9-]*$/, 'must be the plural of a resource, such as widgets')
const IN_AN_OBJECT = /^(?:\.[\w-]+(?:\[\*\])?)+$/
const WANTED_PLACE = 'must be a place in an object, such as .spec.shop.name or .spec.parts[*].name'
const PLACE = matching('place in an object', IN_AN_OBJECT, WANTED_PLACE)

export const relation = section(
  'One relation.',
  {
    resource: requiredField(PLURAL, 'widgets', 'The plural of the objects whose writes it speaks of.'),
    from: field(
      choice(['owner', 'label', 'annotation', 'field']),
      'owner',
      'Which object was read: what owns it, or what its label, its annotation or a field of it names.',
    ),
    name: optionalField(
      TEXT,
      'The label, the annotation, or the place of the field: `.spec.shop.name`, `.spec.parts[*].name`. Needed but for an owner.',
    ),
    of: optionalField(PLURAL, 'The plural of what is named. Needed but for an owner.'),
    namespace: optionalField(
      PLACE,
      'Where the namespace of what is named stands; left out, it is in the same namespace or in none.',
    ),
    on: field(TEXT_LIST, '[creation, authored]', 'Of which writes: creation, authored, status, deletion.'),
    by: optionalField(TEXT, 'Only of writes of this controller, by the name that its spans have.'),
  },
  [
    ({ from, name }) =>
      from !== 'owner' && name === undefined
        ? { key: 'name', message: `is missing; write which ${from} names it, or from: owner` }
        : undefined,
    ({ from, of }) =>
      from !== 'owner' && of === undefined
        ? { key: 'of', message: 'is missing; write the plural of what is named, such as shops' }
        : undefined,
    ({ from, name = '' }) =>
      from === 'field' && name !== '' && !IN_AN_OBJECT.test(name)
        ? { key: 'name', message: `${WANTED_PLACE}, got "${name}"` }
        : undefined,
    ({ on }) => {
      const unknown = on.find((part) => !PARTS.includes(part))
      return unknown === undefined
        ? undefined
        : { key: 'on', message: `has "${unknown}"; write some of ${PARTS.join(', ')}` }
    },
  ],
)

export function buildRelation({
  from,
  name,
  of = '',
  namespace,
  resource,
  on,
  by,
}: SettingsOf<typeof relation>): RelationSettings {
  const named = { of, ...present({ [from]: name, namespace }) }
  return { resource, on, from: from === 'owner' ? 'owner' : named, ...present({ by }) }
}

function matching(type: string, pattern: RegExp, wanted: string): ValueKind<string> {
  return {
    type,
    textual: true,
    read: (node) => {
      const text = textOf(node)
      return text !== undefined && pattern.test(text) ? text : refuse(`${wanted}, got ${describeNode(node)}`)
    },
  }
}
