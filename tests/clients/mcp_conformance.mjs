// The conformance suite's server scenarios against `/mcp`. What it expects and one tool cannot offer is in the
// baseline; a check of the baseline that passes fails the run.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { assert, check, finish, url } from './report.mjs';

const SCENARIOS = {
  '2026-07-28': [
    'server-stateless', 'tools-list', 'caching', 'dns-rebinding-protection', 'http-header-validation',
    'server-sse-multiple-streams', 'input-required-result-unsupported-methods',
  ],
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
  '2025-06-18': ['server-initialize', 'ping', 'tools-list'],
};
const suite = path.join(process.env.TOOLMARK_TEST_NPM, 'node_modules', '.bin', 'conformance');
const baseline = path.join(import.meta.dirname, 'mcp_conformance.yaml');
const env = { ...process.env, PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` };

function run(version, scenario) {
  const endpoint = new URL('/mcp', url).href;
  const options = [
    'server', '--url', endpoint, '--scenario', scenario, '--spec-version', version, '--expected-failures', baseline,
  ];
  return new Promise((resolve) => {
    execFile(suite, options, { env, timeout: 60_000, cwd: process.env.TMPDIR ?? '/tmp' }, (error, stdout, stderr) => {
      resolve({ code: error ? (error.code ?? 1) : 0, output: stdout + stderr });
    });
  });
}

for (const [version, scenarios] of Object.entries(SCENARIOS)) {
  for (const scenario of scenarios) {
    await check(`${scenario} of ${version}`, async () => {
      const { code, output } = await run(version, scenario);
      if (code !== 0) console.log(output);
      assert.equal(code, 0, output.split('\n').filter((line) => /fail|✗|error/i.test(line)).slice(0, 4).join(' '));
    });
  }
}

finish();
