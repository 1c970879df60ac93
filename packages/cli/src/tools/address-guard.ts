/**
 * Which addresses a page may be fetched from: those of the public internet. A page, or what it links to, is written by anybody; the machine
 * itself, its network and a cloud's metadata service trust who connects from here. Pure.
 */
import { BlockList, isIP } from "node:net";

const blocked4 = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const)
  blocked4.addSubnet(net, bits, "ipv4");

/** What is routed publicly, and what of that is not: protocol assignments (Teredo), documentation, 6to4. */
const public6 = new BlockList();
public6.addSubnet("2000::", 3, "ipv6");
const blocked6 = new BlockList();
for (const [net, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  blocked6.addSubnet(net, bits, "ipv6");

/** An IPv4 address inside an IPv6 one: mapped, or behind a translator. */
const embedded = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** Anything that is no address, or no public one, is not. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !blocked4.check(address, "ipv4");
  if (family !== 6 || address.includes("%")) return false;
  // The URL parser writes every spelling of an address the same way.
  const plain = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const inner = embedded.exec(plain);
  if (inner) return isPublicAddress(dotted(`${inner[1]}`, `${inner[2]}`));
  return public6.check(plain, "ipv6") && !blocked6.check(plain, "ipv6");
}

function dotted(high: string, low: string): string {
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join(".");
}
