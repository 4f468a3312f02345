import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { expect, test } from '@jest/globals'
import { anchorsOf } from '../examples/anchors-of.ts'
import { ROOT } from './documented-commands.ts'

const BASE = pathToFileURL(ROOT)
const FENCES = /^( *)```.*?^\1```/gms
const LINK = /\]\(([^)\s#]*)(?:#([^)\s]*))?\)/g
/** A document that a message, a comment or a file of settings names. */
const CITED = /(?<![\w/.-])docs\/[\w/-]+\.(?:md|json|svg|png)/g
/** It says what was called how at the time. */
const HISTORY = 'CHANGELOG.md'

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => existsSync(new URL(file, BASE)))
const documents = tracked.filter((file) => file.endsWith('.md'))
const citing = tracked.filter((file) => /\.(?:ts|tsx|js|sh|ya?ml|md)$|^\.ci\//.test(file) && file !== HISTORY)

const read = (file: string): string => readFileSync(new URL(file, BASE), 'utf8')

test('every link between documents leads to a file, and to a heading of it', () => {
  const broken = documents.flatMap((document) =>
    [...read(document).replace(FENCES, '').matchAll(LINK)].flatMap(([whole, path = '', anchor]) => {
      if (/^[a-z]+:/.test(path)) return []
      const from = new URL(document, BASE)
      const target = path === '' ? from : new URL(path, from)
      const isThere = existsSync(target)
      const hasAnchor =
        anchor === undefined || !target.pathname.endsWith('.md') || (isThere && anchorsOf(target).has(anchor))
      return isThere && hasAnchor ? [] : [`${document}: ${whole}`]
    }),
  )
  expect(broken).toEqual([])
})

test('every document that a file names is there', () => {
  const missing = citing.flatMap((file) =>
    [...read(file).matchAll(CITED)].flatMap(([path]) =>
      existsSync(new URL(path, BASE)) ? [] : [`${file}: ${path}`],
    ),
  )
  expect(missing).toEqual([])
})
