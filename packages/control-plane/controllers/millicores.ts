/** A CPU quantity of Kubernetes, such as `250m` or `2`, in thousandths of a core. Throws a RangeError for anything else. */
export function millicores(quantity: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(m?)$/.exec(quantity) ?? []
  if (digits === undefined) throw new RangeError(`"${quantity}" is no CPU quantity; write 250m or 2`)
  return Number(digits) * (unit === 'm' ? 1 : 1000)
}
