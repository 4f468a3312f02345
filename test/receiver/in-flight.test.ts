import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { InFlight } from '../../src/receiver/in-flight.ts'

test('requests share the budget and give back what they took', () => {
  const inFlight = new InFlight(100)
  {
    using first = inFlight.open()
    using second = inFlight.open()
    expect(first.take(60)).toBe(true)
    expect(second.fits(41)).toBe(false)
    expect(second.take(41)).toBe(false)
    expect(second.take(40)).toBe(true)
    expect(inFlight.bytes).toBe(100)
    expect(first.take(1)).toBe(false)
  }
  expect(inFlight.bytes).toBe(0)
})

test('a request alone in flight has room even when it is larger than the budget', () => {
  const inFlight = new InFlight(100)
  using large = inFlight.open()
  expect(large.take(90)).toBe(true)
  expect(large.take(90)).toBe(true)
  large.markRead()
  using other = inFlight.open()
  expect(other.take(1)).toBe(false)
})

test('giving back twice counts once', () => {
  const inFlight = new InFlight(100)
  using other = inFlight.open()
  other.take(10)
  const request = inFlight.open()
  request.take(50)
  request[Symbol.dispose]()
  request[Symbol.dispose]()
  expect(inFlight.bytes).toBe(10)
})

/** An eighth of it is the share of each. */
const MOST = 800

function budget() {
  const clock = { nowMs: 0 }
  const inFlight = new InFlight(MOST, () => clock.nowMs)
  const ended: string[] = []
  const reading = (name: string, holder: string, bytes: number) => {
    const reservation = inFlight.open(holder)
    reservation.onGiveWay(() => ended.push(name))
    expect(reservation.take(bytes)).toBe(true)
    return reservation
  }
  return { inFlight, ended, reading, clock }
}

test('to a sender within its share gives way who holds most beyond its own, the largest request first', () => {
  const { inFlight, ended, reading } = budget()
  const small = reading('small', 'hog', 150)
  const large = reading('large', 'hog', 350)
  reading('modest', 'modest', 90)
  reading('whole', 'other', 210).markRead()
  expect(inFlight.bytes).toBe(MOST)
  const victim = inFlight.open('victim')
  expect(victim.fits(50)).toBe(true)
  expect(ended).toEqual([])
  expect(victim.take(50)).toBe(true)
  expect(ended).toEqual(['large'])
  expect([large.take(1), inFlight.bytes]).toEqual([false, 500])
  large[Symbol.dispose]()
  expect(inFlight.bytes).toBe(500)

  reading('more', 'much', 300).markRead()
  expect(inFlight.open('greedy').take(101)).toBe(false)
  expect(inFlight.open('next').take(100)).toBe(true)
  expect(ended).toEqual(['large', 'small'])
  expect(small.take(1)).toBe(false)
})

test('of those that send much the first comes to its end', () => {
  const { inFlight, ended, reading } = budget()
  reading('first', 'first', 500)
  const second = reading('second', 'second', 300)
  expect(second.take(1)).toBe(false)
  expect(ended).toEqual([])
  expect(inFlight.open('second').take(1)).toBe(true)
  expect(ended).toEqual(['second'])
})

test('who sends for long has no share any more', () => {
  const { inFlight, ended, reading, clock } = budget()
  for (let at = 0; at < 8; at++) reading(`of ${at}`, `holder ${at}`, 100)
  clock.nowMs = 2_000
  expect(inFlight.open('victim').take(10)).toBe(false)
  clock.nowMs = 2_001
  expect(inFlight.open('victim').take(100)).toBe(false)
  expect(inFlight.open('victim').take(10)).toBe(true)
  expect(ended).toEqual(['of 0'])
})

test('of one sender, whom many may share, larger requests give way to smaller ones', () => {
  const { inFlight, ended, reading } = budget()
  reading('large', 'shared', 799)
  expect(inFlight.open('shared').take(101)).toBe(false)
  expect(ended).toEqual([])
  expect(inFlight.open('shared').take(100)).toBe(true)
  expect(ended).toEqual(['large'])
})

test('what has come whole keeps what it holds', () => {
  const { inFlight, ended, reading } = budget()
  reading('whole', 'hog', 799).markRead()
  expect(inFlight.open('victim').take(2)).toBe(false)
  expect([inFlight.bytes, ended]).toEqual([799, []])
})

const LIMIT = 100
const SHARE = LIMIT / 8

interface Held {
  holder: string
  bytes: number
  isReading: boolean
}

const readingOf = (held: ReadonlyMap<number, Held>, holder: string): number =>
  [...held.values()].reduce((sum, one) => sum + (one.holder === holder && one.isReading ? one.bytes : 0), 0)

const steps = fc.array(
  fc.record({
    request: fc.nat(7),
    what: fc.constantFrom('take', 'take', 'take', 'read', 'dispose', 'belong'),
    bytes: fc.nat(60),
    holder: fc.constantFrom('a', 'b', 'c'),
  }),
  { maxLength: 60 },
)

test('whatever is taken, ended and given back, the sum is right, and only who holds more gives way', () => {
  fc.assert(
    fc.property(steps, (drawn) => {
      const inFlight = new InFlight(LIMIT, () => 0)
      const held = new Map<number, Held>()
      const open = new Map<number, ReturnType<InFlight['open']>>()
      for (const { request, what, bytes, holder } of drawn) {
        let reservation = open.get(request)
        if (reservation === undefined) {
          open.set(request, (reservation = inFlight.open(holder)))
          held.set(request, { holder, bytes: 0, isReading: true })
        }
        const one = held.get(request)!
        const gaveWay: number[] = []
        const before = new Map([...held].map(([at, { ...copy }]) => [at, copy]))
        for (const [at, other] of open)
          other.onGiveWay(() => {
            gaveWay.push(at)
            open.delete(at)
            held.delete(at)
          })
        if (what === 'take') {
          if (reservation.take(bytes)) one.bytes += bytes
          else expect(gaveWay).toEqual([])
          for (const at of gaveWay) {
            const other = before.get(at)!
            expect([other.isReading, one.bytes <= SHARE]).toEqual([true, true])
            if (other.holder === one.holder) expect(other.bytes).toBeGreaterThan(SHARE)
            else expect(readingOf(before, other.holder)).toBeGreaterThan(SHARE)
          }
        } else if (what === 'read') {
          reservation.markRead()
          one.isReading = false
        } else if (what === 'belong') {
          reservation.chargeTo(holder)
          one.holder = holder
        } else {
          reservation[Symbol.dispose]()
          open.delete(request)
          held.delete(request)
        }
        const sum = [...held.values()].reduce((total, each) => total + each.bytes, 0)
        expect(inFlight.bytes).toBe(sum)
        expect(sum <= LIMIT || [...held.values()].filter((each) => each.bytes > 0).length === 1).toBe(true)
      }
    }),
  )
})
