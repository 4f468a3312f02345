import { isIP } from 'node:net'

const CIDR = /^([^/]+)(?:\/(\d{1,3}))?$/

/** Whether this is an address, or a range of them such as 10.0.0.0/8. */
export function isAddressRange(text: string): boolean {
  const [, address = '', bits] = CIDR.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128)
}
