// How a client says what it saw: the lines that `runner/clients.py` reads.
import assert from 'node:assert/strict';

export const url = process.env.TOOLMARK_TEST_URL;

let count = 0;
let failed = 0;

/** One check: what it throws is its failure, and the next check still runs. */
export async function check(name, body) {
  count += 1;
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(error?.stack ?? error);
    console.log(`not ok ${name}: ${String(error?.message ?? error).replace(/\s+/g, ' ').slice(0, 400)}`);
  }
}

export function finish() {
  console.log(`1..${count}`);
  process.exit(failed ? 1 : 0);
}

export { assert };
