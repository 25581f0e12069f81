export const Mine = async () => ({ "shell.env": async (_, output) => { output.env.A = "b"; } });
