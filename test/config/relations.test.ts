import { expect, test } from '@jest/globals'
import { loadText, mistakesIn, WITH_EXPORTER } from './load-text.ts'

const AT = 'connectors::cpid::inference::relations::0'
const mistakes = (relation: string): string[] =>
  mistakesIn([WITH_EXPORTER, `connectors: { cpid: { inference: { relations: [${relation}] } } }`])

test('relations of custom resources arrive as they are meant', () => {
  const relations = '[{ resource: widgets }, { resource: gears, from: annotation, name: a/b, of: shops }]'
  const yaml = `connectors: { cpid: { inference: { relations: ${relations} } } }`
  expect(loadText([WITH_EXPORTER, yaml]).config.cpid.inference.relations).toEqual([
    { resource: 'widgets', from: 'owner', on: ['creation', 'authored'] },
    { resource: 'gears', from: { annotation: 'a/b', of: 'shops' }, on: ['creation', 'authored'] },
  ])
})

test.each([
  ['{ from: owner }', `${AT}::resource`],
  [
    '{ resource: Widget }',
    `${AT}::resource: must be the plural of a resource, such as widgets, got "Widget"`,
  ],
  ['{ resource: a, from: parent }', `${AT}::from`],
  [
    '{ resource: a, from: label, of: b }',
    `${AT}::name: is missing; write which label names it, or from: owner`,
  ],
  [
    '{ resource: a, from: field, name: spec, of: b }',
    `${AT}::name: must be a place in an object, such as .spec.shop.name or .spec.parts[*].name, got "spec"`,
  ],
  [
    '{ resource: a, from: label, name: b }',
    `${AT}::of: is missing; write the plural of what is named, such as shops`,
  ],
  [
    '{ resource: a, on: [made] }',
    `${AT}::on: has "made"; write some of creation, authored, status, deletion`,
  ],
  ['{ resource: a, namespace: spec }', `${AT}::namespace: must be a place in an object`],
])('%s is refused', (relation, mistake) => {
  expect(mistakes(relation).join('\n')).toContain(mistake)
})
