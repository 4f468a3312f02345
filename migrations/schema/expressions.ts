/* Pieces of SQL that the schema is made of: CPIDs as text, times as RFC 3339, names instead of numbers. */

export const uuidOf = (blob: string): string =>
  `lower(substr(hex(${blob}), 1, 8) || '-' || substr(hex(${blob}), 9, 4) || '-' || substr(hex(${blob}), 13, 4)
    || '-' || substr(hex(${blob}), 17, 4) || '-' || substr(hex(${blob}), 21, 12))`

export const nanos = (ns: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%S', ${ns} / 1000000000, 'unixepoch') || printf('.%09dZ', ${ns} % 1000000000)`

export const millis = (ms: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%S', ${ms} / 1000, 'unixepoch') || printf('.%03dZ', ${ms} % 1000)`

export const spanId = (id: string): string => `CASE WHEN ${id} <> 0 THEN printf('%016x', ${id}) END`

/** The object of a reference: what stands before its question mark. */
export const objectOf = (reference: string): string =>
  `substr(${reference}, 1, instr(${reference} || '?', '?') - 1)`

/** One value of a reference, such as its uid; null when it has none. */
export const part = (reference: string, name: string): string => {
  const from = `substr(${reference}, instr(${reference}, '${name}=') + ${name.length + 1})`
  return `CASE WHEN instr(${reference}, '${name}=') > 0 THEN substr(${from}, 1, instr(${from} || '&', '&') - 1) END`
}

export const status = (number: string): string =>
  `CASE ${number} WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END`

export const kind = (number: string): string =>
  `CASE ${number} WHEN 1 THEN 'internal' WHEN 2 THEN 'server' WHEN 3 THEN 'client' WHEN 4 THEN 'producer'
     WHEN 5 THEN 'consumer' ELSE 'unspecified' END`

export const severity = (number: string): string =>
  `CASE WHEN ${number} > 20 THEN 'fatal' WHEN ${number} > 16 THEN 'error' WHEN ${number} > 12 THEN 'warn'
     WHEN ${number} > 8 THEN 'info' WHEN ${number} > 4 THEN 'debug' WHEN ${number} > 0 THEN 'trace' ELSE 'unset' END`

export const sender = (scope: string): string =>
  `LEFT JOIN scopes p ON p.id = ${scope} LEFT JOIN resources r ON r.id = p.resource`

export const ms = (from: string, to: string): string => `(${to} - ${from}) / 1e6`
