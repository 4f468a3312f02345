import { expect, test } from '@jest/globals'
import { isDnsRebinding, isFromPage } from '../../src/platform/browser-origins.ts'

const HERE = 'localhost'
const EVERYWHERE = '0.0.0.0'
const NAMED = 'causeway.example.com'
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' }
const EVIL = 'attacker.example:8888'

test.each<[string, string, Record<string, string>]>([
  ['a scraper on this machine', HERE, { host: 'localhost:8888' }],
  ['a scraper by address', EVERYWHERE, { host: '10.1.2.3:8888' }],
  [
    'a scraper by the name of a service',
    EVERYWHERE,
    { host: 'causeway.tracing.svc:8888', 'user-agent': 'Prometheus/3.0' },
  ],
  [
    'Node, which tells how it fetches',
    EVERYWHERE,
    { host: 'causeway:8888', 'sec-fetch-mode': 'cors', 'user-agent': 'node' },
  ],
  [
    'somebody who looks',
    HERE,
    { host: 'localhost:8888', ...BROWSER, 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
  ],
  ['somebody who looks by localhost', EVERYWHERE, { host: 'localhost:8888', ...BROWSER }],
  ['somebody who looks by the name it listens at', NAMED, { host: `${NAMED}:8888`, ...BROWSER }],
  ['somebody who looks from elsewhere', EVERYWHERE, { host: '10.1.2.3:8888', ...BROWSER }],
  [
    'somebody who follows a link',
    HERE,
    { host: '127.0.0.1:8888', ...BROWSER, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  ],
])('%s may read', (_, host, headers) => {
  expect(isFromPage(host, headers)).toBe(false)
})

test.each<[string, string, Record<string, string>]>([
  ['by a name of its own', HERE, { host: EVIL }],
  ['by a name of its own, where others are called by names', EVERYWHERE, { host: EVIL, ...BROWSER }],
  ['by a name of its own, over TLS', EVERYWHERE, { host: EVIL, 'sec-fetch-site': 'same-origin' }],
  ['by a name of its own, of that origin', EVERYWHERE, { host: EVIL, origin: `http://${EVIL}` }],
  ['of another origin', HERE, { host: 'localhost:8888', origin: 'http://attacker.example' }],
  ['of another origin, that hides it', HERE, { host: 'localhost:8888', origin: 'null' }],
  [
    'of another origin, for an image',
    HERE,
    { host: 'localhost:8888', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
  ],
  [
    'of the same site, for an image',
    HERE,
    { host: 'localhost:8888', 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
  ],
])('a page may not, %s', (_, host, headers) => {
  expect(isFromPage(host, headers)).toBe(true)
})

test.each<[string, Record<string, string>]>([
  ['a program by the name of a service', { host: 'causeway.tracing.svc:4318' }],
  [
    'a page of another origin, which is the browser’s to stop',
    { host: 'localhost:4318', origin: 'https://app.example.com' },
  ],
  ['a page that may', { host: 'collector.example.com', origin: 'https://collector.example.com' }],
])('%s may send', (_, headers) => {
  const cors = { allowedOrigins: ['https://collector.example.com'] }
  expect(isDnsRebinding(EVERYWHERE, headers, cors)).toBe(false)
})

test.each<[string, Record<string, string>]>([
  [
    'that looks as if it came from here',
    { host: 'attacker.example:4318', origin: 'http://attacker.example:4318' },
  ],
  ['that does so in capitals', { host: 'Attacker.example:4318', origin: 'http://attacker.example:4318' }],
  ['that does not say where it is from', { host: 'attacker.example:4318', origin: 'null' }],
])('a page may not send %s', (_, headers) => {
  for (const host of [HERE, EVERYWHERE]) expect(isDnsRebinding(host, headers, undefined)).toBe(true)
})
