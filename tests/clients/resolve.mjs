// Lets a script of this repository import the pinned packages, which are installed outside of it.
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const tools = pathToFileURL(`${process.env.TOOLMARK_TEST_NPM}/package.json`).href;
const bare = (name) => !/^(\.|\/|node:|file:|data:)/.test(name);

registerHooks({
  resolve(name, context, next) {
    const ours = !context.parentURL?.includes('/node_modules/');
    return next(name, bare(name) && ours ? { ...context, parentURL: tools } : context);
  },
});
