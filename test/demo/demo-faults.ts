import { MEMBERS } from '../../examples/demo/cast.ts'

/** What is missing in what a demo printed: the settled cascade of α, with all that its six services did. */
export function demoFaults(printed: string): string[] {
  const heading = /^cascade of [0-9a-f-]{36} \((.*)\)$/m.exec(printed)
  if (heading === null) return ['it shows no cascade']
  const cascade = printed.slice(heading.index)
  const [, services = 'no'] = / of (\d+) services, 1 merge$/m.exec(cascade) ?? []
  const [, table = ''] = cascade.split(/^service +time in spans .*$/m)
  return [
    ...(heading[1] === 'settled' ? [] : [`the cascade of α is ${heading[1] ?? ''}`]),
    ...(Number(services) === MEMBERS.length ? [] : [`it has ${services} services`]),
    ...MEMBERS.filter((member) => !new RegExp(`^${member} +\\S*\\d`, 'm').test(table)).map(
      (member) => `no time of ${member} is told`,
    ),
    ...(/^ +reconcile Endp\S* .*endpoints-controller/m.test(cascade) ? [] : ['the Endpoints have no cause']),
  ]
}
