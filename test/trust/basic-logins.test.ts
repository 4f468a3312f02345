import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { hashSync } from 'bcryptjs'
import { eventually } from '../../lab/harness/eventually.ts'
import {
  LoginAttempts,
  loginGuard,
  openBasicAuthenticator,
  openBasicCredentials,
  readHtpasswd,
} from '../../src/platform/basic-auth.ts'

const COST = 4
const settings = { id: 'basicauth/test', reloadIntervalMs: 5, onTrouble: () => undefined }
/** A guard that forgets every wrong password at once. */
const forgiving = () => {
  let nowMs = 0
  return loginGuard(new LoginAttempts(() => (nowMs += 3_600_000)))
}
const login = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
const knownAs = (username: string) => ({
  kind: 'known',
  sender: { authenticator: 'basicauth/test', username },
})

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-logins-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('users are let in with their own password', async () => {
  const inline = `# people\n\nalice:${hashSync('wonder:land', COST)}\nbob:plain text\n`
  using accepting = openBasicAuthenticator({ ...settings, inline, guard: forgiving() })
  expect(await accepting.check(login('alice', 'wonder:land'))).toEqual(knownAs('alice'))
  expect(await accepting.check(login('alice', 'wonder:land'))).toEqual(knownAs('alice'))
  expect(await accepting.check(login('bob', 'plain text'))).toEqual(knownAs('bob'))
  for (const [user, password] of [
    ['alice', 'wonderland'],
    ['alice', 'plain text'],
    ['alice', ''],
    ['bob', 'wonder:land'],
    ['bob', ''],
    ['mallory', ''],
    ['mallory', 'plain text'],
    ['', ''],
  ] as const) {
    expect(await accepting.check(login(user, password))).toMatchObject({ kind: 'unknown' })
  }
})

test.each([
  ['plain', (password: string) => password],
  ['hashed', (password: string) => hashSync(password, COST)],
])('a password that is kept %s is known letter by letter, before and after it was shown', async (_, kept) => {
  const password = 'Päss-wörd'
  using accepting = openBasicAuthenticator({
    ...settings,
    inline: `alice:${kept(password)}`,
    guard: forgiving(),
  })
  const others = ['Päss-wör', 'Päss-wörds', 'päss-wörd', 'Pass-word', password.normalize('NFD'), '']
  const refused = async (): Promise<void> => {
    for (const other of others)
      expect(await accepting.check(login('alice', other))).toMatchObject({ kind: 'unknown' })
  }
  await refused()
  expect(await accepting.check(login('alice', password))).toEqual(knownAs('alice'))
  await refused()
  expect(await accepting.check(login('alice', password))).toEqual(knownAs('alice'))
})

test.each([
  undefined,
  '',
  'Basic',
  'Basic %%%',
  `Basic ${Buffer.from('alice').toString('base64')}`,
  'Bearer a',
])('a header such as %s is no login', async (header) => {
  using accepting = openBasicAuthenticator({ ...settings, inline: 'alice:word' })
  expect(await accepting.check(header)).toMatchObject({ kind: 'unknown' })
})

test('whoever is no user is checked for as long as a user', async () => {
  using accepting = openBasicAuthenticator({ ...settings, inline: `alice:${hashSync('word', COST)}` })
  expect(accepting.check(login('mallory', 'word'))).toBeInstanceOf(Promise)
  expect(accepting.check(login('alice', 'wrong'))).toBeInstanceOf(Promise)
})

test('guesses have to queue, and only a few of one peer may', async () => {
  using accepting = openBasicAuthenticator({
    ...settings,
    inline: `alice:${hashSync('word', COST)}`,
    guard: forgiving(),
  })
  const guesses = Array.from({ length: 20 }, (_, at) =>
    Promise.resolve(accepting.check(login('alice', String(at)))),
  )
  const kinds = (await Promise.all(guesses)).map(({ kind }) => kind)
  // One is being checked and four wait.
  expect(kinds.filter((kind) => kind === 'unknown')).toHaveLength(5)
  expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(15)
  expect(await accepting.check(login('alice', 'word'))).toEqual(knownAs('alice'))
})

test('passwords are checked one at a time, however fast the next would be', async () => {
  const inline = `alice:${hashSync('word', 12)}\nbob:${hashSync('word', COST)}`
  using accepting = openBasicAuthenticator({ ...settings, inline })
  const checked: string[] = []
  const check = async (user: string): Promise<void> => {
    await accepting.check(login(user, 'wrong'))
    checked.push(user)
  }
  await Promise.all([check('alice'), check('bob')])
  expect(checked).toEqual(['alice', 'bob'])
})

test('what is inline counts before the file, and changes of the file count', async () => {
  const file = join(folder, 'users')
  await writeFile(file, 'alice:file\nbob:file\n')
  using accepting = openBasicAuthenticator({ ...settings, file, inline: 'alice:inline' })
  expect(await accepting.check(login('alice', 'inline'))).toEqual(knownAs('alice'))
  expect(await accepting.check(login('alice', 'file'))).toMatchObject({ kind: 'unknown' })
  expect(await accepting.check(login('bob', 'file'))).toEqual(knownAs('bob'))
  await writeFile(file, 'carol:file\n')
  // Once more than the beginning of the file is there.
  await eventually(async () =>
    expect(await accepting.check(login('carol', 'file'))).toEqual(knownAs('carol')),
  )
  expect(await accepting.check(login('bob', 'file'))).toMatchObject({ kind: 'unknown' })
})

test.each([
  ['alice', 'line 1 is not user:password'],
  ['bob:word\n:word', 'line 2 is not user:password'],
  ['alice:', 'line 1: the password is empty'],
  [
    'alice:$apr1$salt$secret',
    'line 1: this kind of password hash is not supported; make one with htpasswd -B (bcrypt)',
  ],
  [
    'alice:{SHA}secret',
    'line 1: this kind of password hash is not supported; make one with htpasswd -B (bcrypt)',
  ],
  [
    `alice:$2y$31$${'s'.repeat(53)}`,
    'line 1: a bcrypt cost of 31 takes too long to check; make it 14 at most',
  ],
  [
    `alice:${'ü'.repeat(37)}`,
    'line 1: the password is longer than 72 bytes, and bcrypt would take the first 72 for all of it; write a shorter one',
  ],
  [
    'alice:$2y$10$secret',
    'line 1: this kind of password hash is not supported; make one with htpasswd -B (bcrypt)',
  ],
])('a line such as %j is refused without showing it', (text, reason) => {
  expect(readHtpasswd(text)).toBe(reason)
  expect(() => openBasicAuthenticator({ ...settings, inline: text })).toThrow(
    `extensions::basicauth/test::htpasswd::inline: ${reason}`,
  )
})

test('nobody at all is an error', () => {
  expect(() => openBasicAuthenticator({ ...settings, inline: '# nobody' })).toThrow('names no user')
})

test('a login is shown, from files where there are some', async () => {
  const passwordFile = join(folder, 'word')
  await writeFile(passwordFile, 'from a file\n')
  using plain = openBasicCredentials({ ...settings, username: 'alice', password: 'word' })
  using filed = openBasicCredentials({ ...settings, username: 'alice', password: 'word', passwordFile })
  expect(plain.value()).toBe(login('alice', 'word'))
  expect(filed.value()).toBe(login('alice', 'from a file'))
  await writeFile(passwordFile, 'changed\n')
  await eventually(() => expect(filed.value()).toBe(login('alice', 'changed')))
})
