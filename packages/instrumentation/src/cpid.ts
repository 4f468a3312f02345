/** A change propagation ID: a UUID naming the change an object's state came from. Lower case, dashed. */
type Cpid = string & { readonly kind: 'Cpid' }

const FORM = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/
const NIL = '00000000-0000-0000-0000-000000000000'
const LENGTHS = [32, 36]

/** Reads a CPID in any case, with or without dashes; undefined when it is not a UUID or is all zeros. */
export function parseCpid(text: string): Cpid | undefined {
  const parts = LENGTHS.includes(text.length) ? FORM.exec(text.toLowerCase())?.slice(1) : undefined
  const dashed = parts?.join('-')
  return dashed === undefined || dashed === NIL ? undefined : (dashed as Cpid)
}
