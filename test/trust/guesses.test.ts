import { expect, test } from '@jest/globals'
import { getRounds, hashSync } from 'bcryptjs'
import {
  BcryptQueue,
  greatestCost,
  LoginAttempts,
  loginGuard,
  matchesAtEqualCost,
  openBasicAuthenticator,
} from '../../src/platform/basic-auth.ts'
import type { Checked } from '../../src/platform/credentials.ts'

const COST = 4
const settings = { id: 'basicauth/test', reloadIntervalMs: 0, onTrouble: () => undefined }
const USERS = `alice:${hashSync('wonderland', COST)}\nbob:${hashSync('builder', COST + 1)}\ncarol:plain`
const login = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

function guarded() {
  const clock = { nowMs: 0 }
  const guard = loginGuard(new LoginAttempts(() => clock.nowMs))
  return { clock, guard }
}

test('whoever guesses has to wait, ever longer, and others do not', async () => {
  const { clock, guard } = guarded()
  using accepting = openBasicAuthenticator({ ...settings, inline: 'carol:plain', guard })
  const guess = (peer: string): Checked | Promise<Checked> => accepting.check(login('carol', 'wrong'), peer)
  for (let at = 0; at < 5; at++) expect(await guess('here')).toMatchObject({ kind: 'unknown' })
  expect(await guess('here')).toMatchObject({ kind: 'busy', retryAfterMs: 1_000 })
  // The right one is no better off, or waiting would be a way to find it.
  expect(await accepting.check(login('carol', 'plain'), 'here')).toMatchObject({ kind: 'busy' })
  expect(await accepting.check(login('carol', 'plain'), 'elsewhere')).toMatchObject({ kind: 'known' })
  clock.nowMs += 1_000
  expect(await guess('here')).toMatchObject({ kind: 'unknown' })
  expect(await guess('here')).toMatchObject({ kind: 'busy', retryAfterMs: 2_000 })
  clock.nowMs += 600_001
  expect(await guess('here')).toMatchObject({ kind: 'unknown' })
})

test('who was right before from the same address is let in while others there have to wait', async () => {
  const { guard } = guarded()
  using accepting = openBasicAuthenticator({ ...settings, inline: USERS, guard })
  expect(await accepting.check(login('bob', 'builder'), 'gateway')).toMatchObject({ kind: 'known' })
  for (let at = 0; at < 30; at++) await accepting.check(login(`user ${at}`, 'wrong'), 'gateway')
  expect(await accepting.check(login('alice', 'wonderland'), 'gateway')).toMatchObject({ kind: 'busy' })
  expect(await accepting.check(login('bob', 'builder'), 'gateway')).toMatchObject({ kind: 'known' })
})

test('who has shown the right password anywhere need not wait for what others of an address got wrong', async () => {
  const { guard } = guarded()
  using accepting = openBasicAuthenticator({ ...settings, inline: USERS, guard })
  expect(await accepting.check(login('bob', 'builder'), 'home')).toMatchObject({ kind: 'known' })
  for (let at = 0; at < 30; at++) await accepting.check(login(`user ${at}`, 'wrong'), 'gateway')
  expect(await accepting.check(login('bob', 'builder'), 'gateway')).toMatchObject({ kind: 'known' })
})

test('an address gets no more guesses by trying a new user each time', async () => {
  const { clock, guard } = guarded()
  using accepting = openBasicAuthenticator({ ...settings, inline: 'bob:builder', guard })
  expect(await accepting.check(login('bob', 'builder'), 'home')).toMatchObject({ kind: 'known' })
  let checked = 0
  for (let second = 0; second < 3_600; second++) {
    const guess = await accepting.check(login(`user ${second}`, 'wrong'), 'gateway')
    if (guess.kind === 'unknown') checked++
    clock.nowMs += 1_000
  }
  // Twenty, those while the wait doubles to a minute, and then one a minute.
  expect(checked).toBeLessThanOrEqual(20 + 6 + 60)
  expect(await accepting.check(login('bob', 'builder'), 'gateway')).toMatchObject({ kind: 'known' })
})

test('guesses at who has shown the right password are as slow as others while their address has to wait', async () => {
  const { clock, guard } = guarded()
  using accepting = openBasicAuthenticator({ ...settings, inline: USERS, guard })
  expect(await accepting.check(login('bob', 'builder'), 'home')).toMatchObject({ kind: 'known' })
  for (let at = 0; at < 30; at++) await accepting.check(login(`user ${at}`, 'wrong'), 'gateway')
  for (let at = 0; at < 5; at++)
    expect(await accepting.check(login('bob', `guess ${at}`), 'gateway')).toMatchObject({ kind: 'busy' })
  expect(await accepting.check(login('bob', 'builder'), 'gateway')).toMatchObject({ kind: 'busy' })
  clock.nowMs += 60_000
  expect(await accepting.check(login('bob', 'builder'), 'gateway')).toMatchObject({ kind: 'known' })
})

test('an old password of one user keeps out no other user of the same address', async () => {
  const { guard } = guarded()
  using accepting = openBasicAuthenticator({ ...settings, inline: USERS, guard })
  for (let at = 0; at < 30; at++) await accepting.check(login('bob', 'old'), 'gateway')
  expect(await accepting.check(login('alice', 'wonderland'), 'gateway')).toMatchObject({ kind: 'known' })
})

test('strangers who guess from everywhere do not keep out who knows', async () => {
  const { guard } = guarded()
  using accepting = openBasicAuthenticator({ ...settings, inline: USERS, guard })
  const stranger = (at: number): Promise<Checked> =>
    Promise.resolve(accepting.check(login('bob', `guess ${at}`), `stranger ${at % 48}`))
  await Promise.all(Array.from({ length: 48 }, (_, at) => stranger(at)))
  const guesses = Array.from({ length: 400 }, (_, at) => stranger(at))
  const answered: string[] = []
  const bob = Promise.resolve(accepting.check(login('bob', 'builder'), 'home')).then(({ kind }) =>
    answered.push(kind),
  )
  const others = guesses.map(async (guess) => answered.push(`stranger ${(await guess).kind}`))
  await bob
  expect(answered.filter((kind) => kind === 'stranger unknown').length).toBeLessThanOrEqual(2)
  expect(answered).toContain('known')
  await Promise.all(others)
})

test('guesses at several listeners take turns', async () => {
  const { guard } = guarded()
  let running = 0
  let most = 0
  const { turns } = guard
  const listeners = Array.from({ length: 3 }, (_, at) =>
    turns.check(`peer ${at}`, async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      return true
    }),
  )
  expect(await Promise.all(listeners)).toEqual([true, true, true])
  expect(most).toBe(1)
})

test('a check that fails does not end the others', async () => {
  const turns = new BcryptQueue(
    () => 0,
    () => Promise.resolve(),
  )
  expect(await turns.check('a', () => Promise.reject(new Error('broken')))).toBe(false)
  expect(await turns.check('a', () => Promise.resolve(true))).toBe(true)
})

test.each(['alice', 'bob', 'carol', 'nobody'])(
  'a wrong password for %s is a turn at the greatest cost',
  async (user) => {
    const { guard } = guarded()
    let turns = 0
    const counted = {
      ...guard,
      turns: { check: (_: string, check: () => Promise<boolean>) => (turns++, check()) },
    }
    using accepting = openBasicAuthenticator({
      ...settings,
      inline: USERS,
      guard: counted as unknown as typeof guard,
    })
    expect(await accepting.check(login(user, 'wrong'))).toMatchObject({ kind: 'unknown' })
    expect(turns).toBe(1)
  },
)

test('a password fits at any cost that is no less than its own', async () => {
  const hash = hashSync('word', COST)
  expect(greatestCost([hash, hashSync('word', COST + 2)])).toBe(COST + 2)
  expect(greatestCost([])).toBeUndefined()
  expect(await matchesAtEqualCost('word', hash, COST)).toBe(true)
  expect(await matchesAtEqualCost('word', hash, COST + 2)).toBe(true)
  expect(await matchesAtEqualCost('wrong', hash, COST + 2)).toBe(false)
  expect(await matchesAtEqualCost('word', undefined, COST)).toBe(false)
})

test('a password beyond what bcrypt looks at fits nothing', async () => {
  const long = 'x'.repeat(72)
  const hash = hashSync(long, COST)
  expect(await matchesAtEqualCost(long, hash, COST)).toBe(true)
  expect(await matchesAtEqualCost(`${long}y`, hash, COST)).toBe(false)
})

test.each([undefined, 4, 5, 7])('it takes the work of the greatest cost where its own is %s', async (own) => {
  let work = 0
  const counting = (_: string, hash: string): Promise<boolean> => {
    work += 2 ** getRounds(hash)
    return Promise.resolve(false)
  }
  await matchesAtEqualCost('wrong', own === undefined ? undefined : hashSync('word', own), 7, counting)
  expect(work).toBe(2 ** 7)
})
