import { ChangeLinks } from '../parts/change-links.tsx'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import type { ShownGraph } from './other-sources.ts'
import { TableScroll } from '../parts/table-scroll.tsx'

/** The merge graph as a table, ancestors first. */
export function GraphTable({ graph, changes, start }: ShownGraph) {
  const sources = Map.groupBy(graph.edges, ({ target }) => target)
  const nodes = [...graph.nodes].sort((a, b) => a.distance - b.distance)
  return (
    <TableScroll label="CPIDs">
      <table>
        <caption class="visually-hidden">CPIDs of the merge graph, ancestors first</caption>
        <thead>
          <tr>
            <th class="number">Steps away</th>
            <th>CPID</th>
            <th>Object</th>
            <th>Sender</th>
            <th>Time</th>
            <th>Merged from</th>
            <th>Reason</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map(({ cpid, distance, object, service, cluster, timestamp, root, reason, other }) => (
            <tr key={cpid} class={cpid === graph.cpid ? 'chosen' : ''}>
              <td class="number">{other ? '' : distance > 0 ? `+${distance}` : distance}</td>
              <th scope="row">
                <CpidMark cpid={cpid} href={`/cpids/${cpid}`} />{' '}
                {root && <a href={`/cascades/${cpid}`}>cascade</a>}
                {other && <ChangeLinks cpid={cpid} changes={changes.get(cpid)} start={start} />}
              </th>
              <td>{object !== null && <ObjectMark reference={object} />}</td>
              <td>
                {service !== null && <ServiceMark service={service} />}
                {cluster !== null && <span class="muted"> in {cluster}</span>}
              </td>
              <td class="number">
                {timestamp ?? (other ? '' : <span class="warning">no mergelog yet</span>)}
              </td>
              <td>
                {root && <span class="muted">begins here</span>}
                <ul class="cpid-list">
                  {(sources.get(cpid) ?? []).map(({ source }) => (
                    <li key={source}>
                      <CpidMark cpid={source} href={`/cpids/${source}`} />
                    </li>
                  ))}
                </ul>
              </td>
              <td>{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  )
}
