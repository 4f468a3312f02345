import { expect, test } from '@jest/globals'
import { readOptions, SECTIONS } from '../../lab/bench/options.ts'

const DEFAULTS = { directory: '/tmp', causeway: 'causeway.js', json: 'latest.json' }
const sections = (...args: string[]): readonly string[] => readOptions(args, DEFAULTS).sections

test('every section but the soak, the archive and the search is measured unless some are named; what a cluster costs is two of them', () => {
  expect(sections()).toEqual(SECTIONS.filter((section) => !['soak', 'archive', 'search'].includes(section)))
  expect(sections('--only', 'soak')).toEqual(['soak'])
  expect(sections('--only', 'memory')).toEqual(['memory'])
  expect(sections('--only', 'kubernetes', '--only', 'kubernetes-api-server', '--only', 'held')).toEqual([
    'kubernetes',
    'kubernetes-api-server',
    'held',
  ])
  expect(() => sections('--only', 'kuberneets')).toThrow('--only')
})
