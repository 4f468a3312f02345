import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { commandsIn, documentedCommands, ROOT } from './documented-commands.ts'
import { PreparedCheckout } from './prepared-checkout.ts'
import { RUN_AFTER_THE_END, RUN_HERE, type Outcome } from './run-commands.ts'
import { RUN_ELSEWHERE } from './run-elsewhere.ts'
import { typeCommand } from './type-command.ts'

const START = 'npm start'
const OBJECT = 'v1/configmaps/default/web'

let checkout: PreparedCheckout
beforeAll(async () => {
  checkout = await PreparedCheckout.make()
  await checkout.start()
})
afterAll(() => checkout[Symbol.asyncDispose]())

test('every command in a document is run, here or elsewhere, or it is said why not', () => {
  const known = new Set([START, ...Object.keys(RUN_HERE), ...Object.keys(RUN_ELSEWHERE)])
  const documented = documentedCommands()
  expect(documented.filter(({ command }) => !known.has(command))).toEqual([])
  const inDocuments = new Set(documented.map(({ command }) => command))
  expect([...known].filter((command) => !inDocuments.has(command))).toEqual([])
})

test('what is run elsewhere is run there', () => {
  for (const elsewhere of Object.values(RUN_ELSEWHERE)) {
    if ('by' in elsewhere) expect(readFileSync(ROOT + elsewhere.by, 'utf8')).toContain(elsewhere.as)
    else expect(elsewhere.why).not.toBe('')
  }
})

test('commands are found in fences of shells and after prompts, without their comments', () => {
  const text = `
\`\`\`sh
a --b   # c
  long \\
    line
# only a comment
\`\`\`
1. indented:

   \`\`\`console
   $ typed "#1"
   printed
   \`\`\`

\`\`\`
$ typed too
printed
\`\`\`

\`\`\`ts
none()
\`\`\`
`
  expect(commandsIn(text)).toEqual(['a --b', 'long line', 'typed "#1"', 'typed too'])
})

test.each(Object.entries(RUN_HERE))('%s', async (command, outcome) => {
  if (RUN_AFTER_THE_END.includes(command)) await checkout.stop()
  const cpid = /</.test(command + outcome.says.source) ? await knownCpid() : ''
  await expectOutcome(command, outcome, cpid)
})

async function expectOutcome(command: string, { code = 0, says }: Outcome, cpid: string): Promise<void> {
  const typed = await typeCommand(command, checkout, cpid)
  expect(typed).toEqual({
    code,
    printed: expect.stringMatching(new RegExp(says.source.replaceAll('<cpid>', cpid), says.flags)),
  })
}

let cpidOfWeb = ''
/** The newest cascade of the scenario, once its spans can be asked for: what nobody says to have written is waited for. */
async function knownCpid(): Promise<string> {
  if (cpidOfWeb !== '') return cpidOfWeb
  cpidOfWeb = await eventually(async () => {
    const answer = await fetch(checkout.onOwnPorts(`http://localhost:4319/api/v1/cascades?object=${OBJECT}`))
    const { cascades } = (await answer.json()) as { cascades: { root: string; spans: number }[] }
    const [newest] = cascades
    if (newest === undefined || newest.spans === 0) throw new Error('no cascade with spans is there')
    return newest.root
  })
  return cpidOfWeb
}
