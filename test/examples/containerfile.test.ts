import { expect, test } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const FROM = /^FROM /m

test('the image ships files that are there or are built, and is run by the user of the chart', () => {
  const text = read('Containerfile').replaceAll('\\\n', '')
  const shipped = /cp -r (.+) \/shipped\/causeway\//.exec(text)?.[1]?.split(' ') ?? []
  expect(shipped.filter((path) => path !== 'dist' && !existsSync(new URL(path, ROOT)))).toEqual([])
  const image = text.split(FROM).at(-1) ?? ''
  // No shell is there to run anything.
  expect(image).not.toMatch(/^RUN /m)
  const { podSecurityContext: user } = parse(read('deploy/helm/causeway/values.yaml')) as {
    podSecurityContext: { runAsUser: number; runAsGroup: number }
  }
  expect(image).toContain(`USER ${user.runAsUser}:${user.runAsGroup}\n`)
  const [, program = ''] = /^ENTRYPOINT \["\/nodejs\/bin\/node", "\/causeway\/([^"]+)"\]/m.exec(image) ?? []
  expect(existsSync(new URL(program, ROOT))).toBe(true)
})
