import { expect, test } from '@jest/globals'
import { mkdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { leaveNothingBehind } from '../attacked-causeway.ts'
import { CommandFolder } from './run-command.ts'

const MIB = 2 ** 20
/** What a file may hold that a configuration refers to, with some room below it. */
const NEARLY_ALL = 3.9 * MIB

leaveNothingBehind()

/** A list of lists, each of which names the one before it so often. */
function aliases(levels: number, times: number): string {
  const lists = Array.from({ length: levels }, (_, at) => {
    const before = Array.from({ length: times }, () => (at === 0 ? 'x' : `*l${at - 1}`))
    return `l${at}: &l${at} [${before.join(', ')}]`
  })
  return lists.join('\n')
}

const many = (count: number, textOf: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => textOf(at)).join('\n')

/** What is written into a folder, and the configuration then asked for. */
type Attack = (folder: CommandFolder) => string

const ATTACKS: Record<string, Attack> = {
  'a file that names itself': (folder) => {
    const path = join(folder.path, 'loop')
    folder.file('loop', `x\${file:${path}}\${file:${path}}`)
    return folder.file('config.yaml', `service: "\${file:${path}}"`)
  },
  'two files that name one another, with much beside': (folder) => {
    const [one, other] = ['one', 'other'].map((name) => join(folder.path, name))
    folder.file('one', `${'x'.repeat(NEARLY_ALL)}\${file:${other}}`)
    folder.file('other', `\${file:${one}}`)
    return folder.file(
      'config.yaml',
      many(50, (at) => `k${at}: "\${file:${one}}"`),
    )
  },
  'a file of nothing but brackets': (folder) => {
    const path = folder.file('brackets', '}'.repeat(NEARLY_ALL))
    return folder.file('config.yaml', `service: "a\${file:${path}}"`)
  },
  'a file of nothing but dollars': (folder) => {
    const path = folder.file('dollars', `${'$'.repeat(NEARLY_ALL)}{x}`)
    return folder.file('config.yaml', `service: "a\${file:${path}}"`)
  },
  'a device without an end': (folder) => folder.file('config.yaml', 'service: "${file:/dev/zero}"'),
  'a device without an end as the configuration': () => '/dev/zero',
  'a file of three gigabytes without a block': (folder) => {
    const path = folder.file('huge', '')
    truncateSync(path, 3 * 2 ** 30)
    return folder.file('config.yaml', `service: "\${file:${path}}"`)
  },
  'a folder': (folder) => {
    mkdirSync(join(folder.path, 'folder'))
    return folder.file('config.yaml', `service: "\${file:${join(folder.path, 'folder')}}"`)
  },
  'a file that is not there': (folder) => folder.file('config.yaml', 'service: "${file:/nowhere}"'),
  'aliases of aliases': (folder) => folder.file('config.yaml', aliases(9, 20)),
  'aliases in a file': (folder) => {
    const path = folder.file('aliases', aliases(9, 20))
    return folder.file(
      'config.yaml',
      many(100, (at) => `k${at}: \${file:${path}}`),
    )
  },
  'maps merged into maps': (folder) => {
    const maps = many(
      30,
      (at) => `m${at}: &m${at} { ${at === 0 ? 'x: 1' : `<<: [*m${at - 1}, *m${at - 1}]`} }`,
    )
    return folder.file('config.yaml', maps)
  },
  'a key of a hundred thousand parts': (folder) =>
    folder.file('config.yaml', `${Array.from({ length: 100_000 }, () => 'a').join('::')}: 1`),
  'a hundred thousand keys at the top': (folder) =>
    folder.file(
      'config.yaml',
      many(100_000, (at) => `a::k${at}: 1`),
    ),
}

test.each(Object.entries(ATTACKS))('%s', async (what, attack) => {
  using folder = new CommandFolder()
  const { code, stderr } = await folder.run(what, ['validate', '--config', attack(folder)])
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/^Error: /m)
})
