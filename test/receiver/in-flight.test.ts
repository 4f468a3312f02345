import { test, expect } from '@jest/globals'
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
    expect(inFlight.isFull).toBe(true)
    expect(first.take(1)).toBe(false)
  }
  expect(inFlight.bytes).toBe(0)
  expect(inFlight.isFull).toBe(false)
})

test('a request alone in flight has room even when it is larger than the budget', () => {
  const inFlight = new InFlight(100)
  using large = inFlight.open()
  expect(large.take(90)).toBe(true)
  expect(large.take(90)).toBe(true)
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
