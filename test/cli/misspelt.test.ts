import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { optionsOf } from '../../src/cli/command-line.ts'
import { type Option, OPTIONS } from '../../src/cli/options.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { Cli } from './cli.ts'

const LETTERS = fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyz'))

/** A name with one letter added, taken away, changed, or swapped with its neighbour. */
const edited = (name: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.nat(name.length), LETTERS, fc.constantFrom('add', 'drop', 'change', 'swap'))
    .map(([at, letter, edit]) => {
      const [before, after] = [name.slice(0, at), name.slice(at)]
      if (edit === 'add') return before + letter + after
      if (edit === 'drop') return before + after.slice(1)
      if (edit === 'change') return before + (after === '' ? '' : letter) + after.slice(1)
      return before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2)
    })

test.each([...COMMANDS.keys(), 'help'])('%s misspelt by one letter is understood', async (name) => {
  using cli = new Cli()
  await fc.assert(
    fc.asyncProperty(edited(name), fc.boolean(), async (written, asksForHelp) => {
      fc.pre(written !== 'help' && !COMMANDS.has(written) && !Object.hasOwn(OPTIONS, written))
      const { code, stdout, stderr } = await cli.runBare(written, ...(asksForHelp ? ['--help'] : []))
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(/^Error: unknown command .*; did you mean .*; causeway --help lists .*\n$/)
      expect(suggested(stderr)).toContain(name)
    }),
    { numRuns: 30 },
  )
})

test.each([...COMMANDS])('options of %s misspelt by one letter are understood', async (name, command) => {
  using cli = new Cli()
  const options = optionsOf(command)
  for (const option of options) {
    const { value }: Option = OPTIONS[option]
    await fc.assert(
      fc.asyncProperty(edited(option), fc.constantFrom('--', '-'), async (written, dashes) => {
        fc.pre(!Object.hasOwn(OPTIONS, written) && written.length > 1)
        const args = value === undefined ? [] : ['x']
        const { code, stdout, stderr } = await cli.runBare(name, `${dashes}${written}`, ...args)
        expect([code, stdout]).toEqual([2, ''])
        expect(stderr).toMatch(
          /^Error: unknown option .*; did you mean .*; causeway [a-z-]+ --help lists .*\n$/,
        )
        expect(suggested(stderr)).toContain(`--${option}`)
      }),
      { numRuns: 10 },
    )
  }
})

test.each([
  [
    ['--config', 'x', '--fromat', 'json'],
    'unknown option --fromat; did you mean --format?; causeway --help lists commands and options',
  ],
  [
    ['cascades', '-help'],
    'unknown option -help; did you mean --help?; causeway cascades --help lists its options',
  ],
  [['cascades', '-n', 'shop'], 'unknown option -n; causeway cascades --help lists its options'],
  [['cascades', '--nonsense'], 'unknown option --nonsense; causeway cascades --help lists its options'],
  [['cascades', '--limit'], '--limit needs a value; write --limit <n>'],
  [
    ['cascades', '--limit', '--format', 'json'],
    '--limit is followed by --format; write its value, as in --limit=<n>',
  ],
  [['completion', 'bash', '--config', 'c.yaml'], 'completion takes no --config; leave it out'],
  [['cascade', '--all=yes'], '--all takes no value; write --all'],
  [['kubectl', 'apply', '-f', 'shop/'], 'the arguments for kubectl go after --; write -- before apply'],
  [['kubectl', 'get', 'pods', '--limit', '3'], 'the arguments for kubectl go after --; write -- before get'],
  [
    ['run', 'helm', 'upgrade', 'shop', './shop', '--set', 'replicas=1'],
    'the arguments for another program go after --; write -- before helm',
  ],
  ...['config', 'context', 'kubeconfig', 'cluster', 'reason', 'endpoint'].map((own): [string[], string] => [
    ['run', '--reason', 'x', 'flux', `--${own}=x`],
    'the arguments for another program go after --; write -- before flux',
  ]),
  [['kubectl', 'get', 'pods', '--help'], 'the arguments for kubectl go after --; write -- before get'],
  [
    ['kubectl', 'exec', 'web', '--cluster', 'c', '--', 'ls'],
    'the arguments for kubectl go after --; write -- before exec',
  ],
  [
    ['kubectl', 'exec', '-it', 'web', '--', 'ls'],
    'the arguments for kubectl go after --; write -- before exec',
  ],
  [['version'], 'unknown command "version"; did you mean --version?; causeway --help lists the commands'],
  [['nonsense'], 'unknown command "nonsense"; causeway --help lists the commands'],
  [
    ['help', 'cascads'],
    'unknown command "cascads"; did you mean cascades, cascade?; causeway --help lists the commands',
  ],
])('%j', async (argv, message) => {
  using cli = new Cli()
  expect(await cli.runBare(...argv)).toEqual({ code: 2, stdout: '', stderr: `Error: ${message}\n` })
})

function suggested(stderr: string): string[] {
  const [, names = ''] = /; did you mean ([^?]*)\?/.exec(stderr) ?? []
  return names.split(', ')
}
