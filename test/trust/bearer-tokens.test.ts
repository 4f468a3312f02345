import { writeFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { openBearerAuthenticator, openBearerCredentials } from '../../src/platform/credentials.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-tokens-'))
})
afterAll(() => rm(folder, { recursive: true }))

const settings = {
  id: 'bearertokenauth/test',
  header: 'Authorization',
  scheme: 'Bearer',
  tokens: ['first', 'second'],
  reloadIntervalMs: 5,
  onTrouble: () => undefined,
}

test('each of the tokens is let in, and nothing else', () => {
  using accepting = openBearerAuthenticator(settings)
  const known = { kind: 'known', sender: { authenticator: 'bearertokenauth/test' } }
  expect(accepting.check('Bearer first')).toEqual(known)
  expect(accepting.check('bearer second')).toEqual(known)
  for (const wrong of [
    'Bearer',
    'Bearer ',
    'Bearer firs',
    'Bearer first ',
    'Bearer firstsecond',
    'first',
    '',
  ]) {
    expect(accepting.check(wrong)).toMatchObject({ kind: 'unknown' })
  }
  expect(accepting.check(undefined)).toMatchObject({ kind: 'unknown' })
})

test('a file of tokens that is far too large is not read to its end', () => {
  const filename = join(folder, 'huge.tokens')
  writeFileSync(filename, 'token\n'.repeat(1_000_000))
  expect(() => openBearerAuthenticator({ ...settings, filename })).toThrow(
    'huge.tokens holds more than 4 MiB, too much for what it is named for',
  )
})

test.each([
  ['a beginning', 'sëcret-tökens', 'sëcret-töken'],
  ['more', 'sëcret-töken', 'sëcret-tökens'],
  ['another end', 'sëcret-tökens', 'sëcret-tökenz'],
  ['another beginning', 'sëcret-tökens', 'zëcret-tökens'],
  ['another case', 'Secret', 'secret'],
  ['letters that share their last byte', 'Ā', 'Ȁ'],
  ['the same letter written in another way', 'é', 'é'.normalize('NFD')],
])('a token is known letter by letter: %s is not enough', (_, token, shown) => {
  using accepting = openBearerAuthenticator({ ...settings, tokens: ['first', token, 'last'] })
  using shownTo = openBearerAuthenticator({ ...settings, tokens: ['first', shown, 'last'] })
  expect(accepting.check(`Bearer ${token}`)).toMatchObject({ kind: 'known' })
  expect(shownTo.check(`Bearer ${shown}`)).toMatchObject({ kind: 'known' })
  expect(accepting.check(`Bearer ${shown}`)).toMatchObject({ kind: 'unknown' })
  expect(shownTo.check(`Bearer ${token}`)).toMatchObject({ kind: 'unknown' })
})

test('nobody is told the token or what they sent', () => {
  using accepting = openBearerAuthenticator(settings)
  for (const value of [undefined, 'Basic c2VjcmV0', 'Bearer secret']) {
    expect(JSON.stringify(accepting.check(value))).not.toMatch(/secret|c2VjcmV0|first/)
  }
})

test('a token that stands alone in a header of its own', () => {
  using accepting = openBearerAuthenticator({ ...settings, header: 'X-Token', scheme: '' })
  expect(accepting.header).toBe('x-token')
  expect(accepting.check('first')).toMatchObject({ kind: 'known' })
  expect(accepting.check('Bearer first')).toMatchObject({ kind: 'unknown' })
})

test('a file counts instead of the tokens, and its changes count', async () => {
  const filename = join(folder, 'changing.token')
  await writeFile(filename, 'third\n\n fourth \n')
  using accepting = openBearerAuthenticator({ ...settings, filename })
  using showing = openBearerCredentials({ ...settings, filename })
  expect(accepting.check('Bearer third')).toMatchObject({ kind: 'known' })
  expect(accepting.check('Bearer fourth')).toMatchObject({ kind: 'known' })
  expect(accepting.check('Bearer first')).toMatchObject({ kind: 'unknown' })
  expect(showing.value()).toBe('Bearer third')

  await writeFile(filename, 'fifth')
  await eventually(() => expect(accepting.check('Bearer fifth')).toMatchObject({ kind: 'known' }))
  await eventually(() => expect(showing.value()).toBe('Bearer fifth'))
  expect(accepting.check('Bearer third')).toMatchObject({ kind: 'unknown' })
})

test('a file that is emptied or goes away changes nothing, and is told of once', async () => {
  const filename = join(folder, 'vanishing.token')
  await writeFile(filename, 'third')
  const troubles: string[] = []
  using accepting = openBearerAuthenticator({
    ...settings,
    filename,
    onTrouble: (reason) => troubles.push(reason),
  })
  await writeFile(filename, '')
  await eventually(() => expect(troubles).toEqual([expect.stringContaining('holds no token')]))
  await rm(filename)
  await eventually(() =>
    expect(troubles[1]).toMatch(/^cannot read extensions::bearertokenauth\/test::filename/),
  )
  expect(accepting.check('Bearer third')).toMatchObject({ kind: 'known' })
})

test('whoever is disposed of looks at its file no more', async () => {
  const filename = join(folder, 'left.token')
  await writeFile(filename, 'third')
  const told = { left: 0, following: [] as string[] }
  openBearerAuthenticator({ ...settings, filename, onTrouble: () => told.left++ })[Symbol.dispose]()
  using following = openBearerAuthenticator({
    ...settings,
    filename,
    onTrouble: (reason) => told.following.push(reason),
  })
  // Two looks of the one, with the same interval, have one of the other between them.
  await writeFile(filename, '')
  await eventually(() => expect(told.following).toHaveLength(1))
  await rm(filename)
  await eventually(() => expect(told.following).toHaveLength(2))
  expect(following.check('Bearer third')).toMatchObject({ kind: 'known' })
  expect(told.left).toBe(0)
})

test('a file that is not there is an error that names it', () => {
  const filename = join(folder, 'none.token')
  expect(() => openBearerAuthenticator({ ...settings, filename })).toThrow(
    /^cannot read extensions::bearertokenauth\/test::filename: ENOENT.*; correct the path$/,
  )
})
