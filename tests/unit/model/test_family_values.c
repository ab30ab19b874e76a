/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What texts of families do while they run: values that they may have, what is said of those that
 * do not fit, and texts that say the same in two ways, whose steps are equal.
 */
#include <string.h>

#include "input/config/model/model_config.h"
#include "base/json/value.h"
#include "model/evaluator/family.h"
#include "run/step/step.h"
#include "unit/fixtures.h"

#define HEAD                                                                                       \
    "from decoder import *\n"                                                                      \
    "model_type = \"t\"\n"                                                                         \
    "architectures = {\"T\": \"causal_lm\"}\n"
#define MLP HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        "
#define MODEL HEAD "class Model(Model):\n    def forward(self, ids):\n        "

/* A step of the model that a text describes, of a config whose hidden size is 64. */
static ms_status step(const char *text, ms_simulation *simulation, ms_error *err)
{
    static const char config[] =
        "{\"model_type\": \"t\", \"hidden_size\": 64, \"vocab_size\": 99, \"intermediate_size\": "
        "96, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"num_hidden_layers\": 2}";
    const ms_run_setting settings[] = {
        {"config", "gpt2"}, {"batch", "3"}, {"seq", "8"}, {"device", "a100-80gb"}};
    const ms_json_source source = {"config.json", config, sizeof config - 1};
    ms_arena *arena = ms_arena_create(0);
    ms_family_file *file = ms_arena_array(arena, ms_family_file, 1);
    ms_model_config other, model;
    ms_run_config run;
    ms_json *document = NULL;
    assert_non_null(file);
    load_run(arena, settings, sizeof settings / sizeof *settings, &other, &run);
    *file =
        (ms_family_file){.name = "t.family", .text = text, .bytes = strlen(text), .is_users = true};
    const ms_family *family = ms_family_of_text(arena, file, NULL, ms_families(), err);
    const ms_family_list list = {.items = &family, .count = 1};
    ms_status status = family ? MS_OK : MS_ERR_CONFIG;
    assert_int_equal(ms_json_parse(&source, &document, NULL), MS_OK);
    if (status == MS_OK)
        status = ms_model_config_read(arena, ms_json_root(document), &list, &model, NULL, err);
    if (status == MS_OK)
        status = ms_step_simulate(&model, &run, MS_STEPS_LEAN, simulation, err);
    ms_json_free(document);
    ms_arena_free(arena);
    return status;
}

/* Line and column of the failure, and a part of its sentence; line 0: of the config. */
static const struct {
    const char *text;
    uint32_t line, column;
    const char *says;
} failures[] = {
    {MLP "return self.down_proj(x)\n", 6, 21, ", found [3, 8, 64]"},
    {MLP "return x + self.up_proj(x)\n", 6, 18, "[3, 8, 64] and [3, 8, 96] do not fit"},
    {MLP "return split_heads(x, 5)\n", 6, 16, "heads * width"},
    {MLP "return view_heads(x, 4, 8)\n", 6, 16, "heads * width"},
    {MLP "return scale_by_positions(x, x)\n", 6, 16, "a query with heads and position ids"},
    {MLP "a, b = split(x, 30)\n        return a\n", 6, 16, "equal parts"},
    {MLP "a, b = split(x, 16)\n        return a\n", 6, 16, "this has 4 values, but 2 are assigned"},
    {MLP "a, b = x.split([32, 31], dim=-1)\n        return a\n", 6, 18, "make up the whole"},
    {MLP "return slice_last(x, 65)\n", 6, 16, "that many elements"},
    {MLP "y = None\n        return gelu(y)\n", 7, 16, "found None"},
    {MLP "if x:\n            x = x\n        return x\n", 6, 12, "values inside a tensor"},
    {MLP "for y in x:\n            x = y\n        return x\n", 6, 18, "a list, or range"},
    {MLP "return x % x\n", 6, 18, "not known of these tensors"},
    {MLP "return hidden_size\n", 5, 5, "must return a tensor"},
    {MLP "return transpose(x, 1, 9)\n", 6, 32, "a dimension of a tensor that has 3"},
    {MLP "return x.view(3, 8, 63)\n", 6, 18, "as many elements"},
    {MLP "return x.view(-1, -1)\n", 6, 27, "of which one may be -1"},
    {MLP "return x.transpose(1, 2).view(3, -1)\n", 6, 34, "without a copy"},
    {MLP "return x[9]\n", 6, 18, "no such index"},
    {MLP "return x[1, 2, 3, 4]\n", 6, 27, "has 0 dimensions"},
    {MLP "return x[..., 5:2]\n", 6, 23, "leaves no elements"},
    {MLP "return (1, 2)[2]\n", 6, 23, "there are 2"},
    {MLP "return torch.cat([x, self.up_proj(x)], dim=1)\n", 6, 22, "of one shape"},
    {MLP "return x @ x\n", 6, 18, "the product of"},
    {MLP "return torch.bmm(x, x)\n", 6, 22, "[N, K, L] behind [N, M, K]"},
    {MLP "return x.repeat(2, 1, 1)\n", 6, 18, "without gradients"},
    {MLP "return torch.std(x, dim=-1, keepdim=True, unbiased=True)\n", 6, 22, "unbiased=False"},
    {MLP "return F.avg_pool2d(x, 2)\n", 6, 18, "a picture [B, C, height, width]"},
    {MLP "y = [x]\n        y.append(y)\n        return x\n", 7, 11, "lists within lists"},
    {MLP "y = [x]\n        z = [y]\n        y.append([x])\n        return x\n", 8, 11,
     "lists within lists"},
    {MLP "y = {}\n        y[0] = x\n        return x\n", 7, 9, "a text as its name"},
    {MLP "y = {}\n        y[\"a\"] = y\n        return x\n", 7, 9, "lists within lists"},
    {MLP "x[:, 1:] += torch.ones(3, 3, 7, 64)\n        return x\n", 6, 9, "must fit the part"},
    {MLP "x[torch.zeros(2, dtype=torch.long)] += x[:2]\n        return x\n", 6, 9,
     "must fit the part"},
    {MLP "x[:, 1:] += torch.ones(7)\n        return x\n", 6, 9, "do not fit"},
    {HEAD "class Mlp(Mlp):\n    parts = [Layer() for i in range(3)]\n", 5, 31,
     "range(num_hidden_layers)"},
    {HEAD "class Mlp(Mlp):\n    parts = [linear(64, 64) for i in range(3)]\n"
          "    def forward(self, x):\n        return self.parts[3](x)\n",
     7, 21, "cannot be indexed"},
    {MLP "return x + torch.ones(0)\n", 6, 26, "expected up to 5 sizes"},
    {MLP "return x + torch.gather(torch.ones(2), 0, torch.ones(2))\n", 6, 26, "places in each"},
    {MLP "return torch.view_as_complex(x)\n", 6, 22, "pairs of fp32 side by side"},
    {MLP "return torch.view_as_real(x)\n", 6, 22, "of complex numbers"},
    {MLP "return x.scatter_(0, x, x)\n", 6, 18, "only the last dimension"},
    {MLP "return x.scatter(-1, x.long(), x)\n", 6, 18, "places and a number"},
    {MLP "return x[:, :1].masked_fill(x > 0, 0)\n", 6, 25, "a mask no larger than the tensor"},
    {MLP "return torch.clamp(x, x, x)\n", 6, 22, "two tensors of one element"},
    {MLP "return torch.logical_or(x, x)\n", 6, 22, "expected two masks"},
    {MLP "return F.one_hot(x, 2)\n", 6, 18, "numbers, and how many"},
    {MLP "return F.embedding(x, x)\n", 6, 18, "ids and a table"},
    {MLP "a, b = x.max(1)\n        return a\n", 6, 18, "only the last dimension"},
    {MLP "return torch.logical_and(x, self.up_proj(x))\n", 6, 22, "do not fit"},
    {HEAD "def forward(self, ids):\n    return lm_logits(self.model(ids))\n", 4, 1,
     "a loss of one element"},
    {MLP "return torch.log1p(x)\n", 6, 22, "without gradients"},
    {HEAD "class Mlp(Mlp):\n    e = batched_experts(4, 64, 8)\n    def forward(self, x):\n"
          "        return self.e(x)\n",
     7, 21, "rows for each expert"},
    {MLP "outputs(x, x)\n        return x\n", 6, 9, "the forward of the class"},
    {MLP "return x + math.log2(0)\n", 6, 25, "above 0"},
    {HEAD "class Mlp(Mlp):\n    table = register_buffer(3)\n", 5, 29, "a call of a function"},
    {MLP "return x + \"a\"\n", 6, 18, "does not take these operands"},
    {MLP "n = x.shape[0] // (x.shape[1] - 8)\n        return x\n", 6, 24, "divides by 0"},
    {MLP "return x.shape\n", 5, 5, "must return a tensor"},
    {MLP "return again(x)\ndef again(x):\n    return again(x)\n", 7, 1, "nested too deeply"},
    {MLP "for i in range(500):\n            for j in range(500):\n"
         "                for k in range(500):\n                    y = k + 1 * j * i\n"
         "        return x\n",
     9, 0, "too many steps"},
    {MLP "for i in range(600):\n            y = i\n        return x\n", 6, 18, "512 rounds"},
    {MLP "y = [x]\n        for i in range(100):\n            y = [y]\n        return x\n", 8, 18,
     "at most"},
    {MODEL "return self.embed_tokens(ids)[..., :32]\n", 5, 5, "hidden states [B, S, hidden_size]"},
    {HEAD "class Layer(Layer):\n    def forward(self, x, attention_mask=None, sin=None, cos=None, "
          "position_ids=None):\n        return self.mlp(x, x)\n",
     6, 28, "no such parameter"},
    {MLP "return as_tokens(view_heads(x, 4))\n", 6, 16, "[B, S, width]"},
    {MLP "return as_sequences(x)\n", 6, 16, "as_tokens() of the same module"},
    {MLP "return F.conv1d(x, x, None, padding=1, groups=3)\n", 6, 18, "groups=C and a padding"},
    {MLP "return F.conv1d(x[0], x, None, padding=1, groups=3)\n", 6, 18, "[B, C, S], and a weight"},
    {MLP "a, b = chunk_scan(x, x, x, x, x, x, x, 4)\n        return a\n", 6, 16,
     "[B, S, heads, width]"},
    {MLP "y = view_heads(x, 4)\n        a, b = chunk_scan(y, y, y, y, y, y, y, 4)\n"
         "        return a\n",
     7, 16, "a step of each head"},
    {MODEL "x = has_state()\n        return self.embed_tokens(ids)\n", 6, 13, "a layer's modules"},
    {MLP "return selective_update(x, x, x, x, x, x, x, x, x)\n", 6, 16, "decays, [C, N]"},
    {MLP "a, b = selective_scan(x, x, x[0], x, x, x, x, x)\n        return a\n", 6, 16,
     "channels in front of tokens"},
    {MLP "return project_step(x, x)\n", 6, 16, "a weight, [C, R]"},
    {MLP "return update_conv_state(x[0])\n", 6, 16, "[B, C, S]"},
    {MODEL "x = update_conv_state(self.embed_tokens(ids))\n        return x\n", 6, 13,
     "a layer's modules"},
    {MLP "y = view_heads(x, 4)\n        return chunk_update(y, y, y, y, y, y, y, y)\n", 7, 16,
     "[B, heads, width]"},
    {MLP "return gated_delta_rule(x, x, x, x, x)\n", 6, 16, "[B, S, heads, width]"},
    {MLP "y = view_heads(x, 4)\n        return gated_delta_rule(y, y, y, y, y)\n", 7, 16,
     "a number for each head"},
    {MLP "a, b = topk(x, 65)\n        return a\n", 6, 24, "as many as there are, or fewer"},
    {HEAD "class Mlp(Mlp):\n    p = parameter(3)\n    def forward(self, x):\n"
          "        return F.linear(x, self.p)\n",
     7, 18, "as many elements as the weight reads"},
    {HEAD "class Mlp(Mlp):\n    e = experts(4, 64, 8)\n    def forward(self, x):\n"
          "        values, chosen = topk(x, 2)\n"
          "        return as_sequences(self.e(as_tokens(x), chosen, values))\n",
     8, 34, "each token's experts"},
    {MLP "groups = choose_by_pairs(as_tokens(x), x)\n        return groups[0]\n", 6, 18,
     "a score of each expert"},
    {HEAD "class Mlp(Mlp):\n    p = parameter(3)\n    def forward(self, x):\n"
          "        return x * self.p\n",
     7, 18, "[3, 8, 64] and [3] do not fit"},
    {MLP "return torch.abs(x)\n", 6, 22, "without gradients"},
    {MLP "return torch.log(x)\n", 6, 22, "without gradients"},
    {MLP "return torch.min(x, x)\n", 6, 22, "two tensors without gradients"},
    {MLP "return torch.where(x > 0, x, x)\n", 6, 22, "without gradients"},
    {MLP "return torch.where(x, 1, x)\n", 6, 22, "a condition and two tensors"},
    {MLP "return x.masked_scatter(x, 3)\n", 6, 18, "a mask and a source"},
    {MLP "return image_token_mask(3)\n", 6, 33, "expected a tensor"},
    {MLP "return join_pictures(x)\n", 6, 16, "[pictures, tokens, width]"},
    {MLP "forget_graph(graph_mark(), 99999)\n        return x\n", 6, 9, "two marks"},
    {HEAD "class Mlp(Mlp):\n    p = patches(3, 64, 2, 2)\n    def forward(self, x):\n"
          "        return self.p(x)\n",
     7, 21, "[B, channels, height, width]"},
    {HEAD "class Mlp(Mlp):\n    p = convolution(9, 64)\n    def forward(self, x):\n"
          "        return self.p(x)\n",
     7, 21, "[B, channels, frames]"},
    {HEAD
     "class Part:\n    p = linear(64, 64)\n    def forward(self, x):\n        return self.p(x)\n"
     "class Mlp(Mlp):\n    parts = [Part(), Part()]\n    def forward(self, x):\n"
     "        return self.parts[2](x)\n",
     11, 21, "cannot be indexed"},
    {HEAD "class Mlp(Mlp):\n    down_proj = linear(intermediate_size, hidden_size - 64)\n", 0, 0,
     "not a size that a module can have"},
    {HEAD
     "class Block(feed_forward):\n    norm = rms_norm(hidden_size)\n    def forward(self, x):\n"
     "        return self.norm(x)\n"
     "class Mlp(Mlp):\n    blocks = [Block() for i in range(num_attention_heads)]\n",
     9, 32, "expected range(num_hidden_layers)"},
    {HEAD "class Block:\n    norm = rms_norm(hidden_size)\n    def forward(self, x):\n"
          "        return self.norm(x)\n"
          "class config(config):\n    blocks = count(5000)\n"
          "class Mlp(Mlp):\n    blocks = [Block() for i in range(blocks)]\n",
     0, 0, "too many modules"},
    {HEAD "class Model(Model):\n    norm = rms_norm(3)\n", 0, 0, "the norm's width"},
    {HEAD "class Model(Model):\n    embed_tokens = token_embedding(vocab_size, 32)\n", 0, 0,
     "is not the hidden size"},
};

static void test_failures(void **state)
{
    uint32_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        ms_error err = {0};
        ms_simulation simulation;
        const ms_status status = step(failures[i].text, &simulation, &err);
        const bool is_there =
            !failures[i].line || (err.line == failures[i].line &&
                                  (!failures[i].column || err.column == failures[i].column));
        if (status != MS_ERR_CONFIG || !strstr(err.text, failures[i].says) || !is_there) {
            print_error("%u:%u: %s, not %u:%u: %s\n%s\n", err.line, err.column, err.text,
                        failures[i].line, failures[i].column, failures[i].says, failures[i].text);
            wrong++;
        }
        if (status == MS_OK)
            ms_simulation_free(&simulation);
    }
    assert_int_equal(wrong, 0);
}

#define PLAIN "return self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))\n"

/* Texts that say the same. */
static const struct {
    const char *first, *second;
} pairs[] = {
    {MLP PLAIN, HEAD},
    {MLP PLAIN,
     MLP "\"\"\"Words\n        about it.\"\"\"\n        gate: int = F.silu(self.gate_proj(x))\n"
         "        up = self.up_proj(x)\n        gate = gate * up\n"
         "        del up\n        return self.down_proj(gate)\n"},
    {MLP PLAIN, MLP "return self.fed(x, scale=2)\n"
                    "    def fed(self, x, scale: float = 1.5, name=\"a\") -> int:\n"
                    "        if scale == 2 and name in (\"a\", \"b\") and name not in []:\n"
                    "            return self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))\n"
                    "        return x\n"},
    {MLP PLAIN,
     HEAD "def product(a, b):\n    return a * b\n"
          "class Mlp(Mlp):\n    def forward(self, x):\n"
          "        return self.down_proj(product(silu(self.gate_proj(x)), self.up_proj(x)))\n"},
    {MLP "a, b = split(x, hidden_size // 2)\n        return torch.cat((a, b), dim=-1) + x\n",
     MLP "parts = torch.chunk(x, 2, dim=-1)\n        a, b = parts\n"
         "        return torch.cat([*parts], -1) + x\n"},
    {MLP "return x.view(x.shape[0], x.shape[1], 8, -1).reshape(x.shape) + x\n",
     MLP "sizes = (*x.shape[:-1], 8, 8)\n        shape = x.size()\n"
         "        return x.view(sizes).reshape(*shape) + x\n"},
    {MLP "y = x.transpose(1, 2)\n        return y.contiguous().transpose(-1, -2) + x\n",
     MLP "return x.permute(0, 2, 1).contiguous().permute(0, 2, 1) + x\n"},
    {MLP "return x.float().pow(2).mean(-1, keepdim=True).to(x.dtype) + x\n", MLP
     "y = x.to(torch.float32)\n        y = y ** 2\n        y = torch.mean(y, -1, keepdim=True)\n"
     "        y = y.type_as(x)\n        return y + x\n"},
    {MLP "for y in [x, x * 2]:\n            x = x + y\n        return x\n", MLP
     "items = {\"a\": x, \"b\": x * 2}\n        x = x + items[\"a\"]\n        y = items[\"b\"]\n"
     "        x = x + y\n        return x\n"},
    {MLP "n = 0\n        for i in range(2, 7, 2):\n            n += i\n        if n == 12:\n"
         "            x = x + x[:, None, 0]\n        return x\n",
     MLP "return x + x[:, :1]\n"},
    {MLP "return torch.bmm(x, x.transpose(1, 2)).bmm(x)\n",
     MLP "y = x.transpose(1, 2)\n        z = torch.bmm(x, y)\n        return z.bmm(x)\n"},
    {MLP "return x + torch.ones(3, 8, 64, dtype=x.dtype)\n",
     MLP "y = torch.full((3, 8, 64), 1.0, dtype=x.dtype)\n        return x + y\n"},
    {MLP "y = torch.view_as_complex(x.float().reshape(3, 8, 32, 2))\n"
         "        return torch.view_as_real(y).flatten(2).type_as(x) + x\n",
     MLP "y = x.to(torch.float32).view(3, 8, 32, 2)\n        y = torch.view_as_complex(y)\n"
         "        y = torch.view_as_real(y).reshape(3, 8, 64)\n        return y.to(x.dtype) + x\n"},
    {MLP "with torch.no_grad():\n            best, places = x.max(-1)\n"
         "            mask = torch.zeros_like(x).scatter_(-1, places[..., None], 1)\n"
         "        return x.masked_fill(torch.logical_not(mask.bool()), 0) + x\n",
     MLP "with torch.no_grad():\n            places = x.max(-1)[1].unsqueeze(-1)\n"
         "            mask = torch.zeros_like(x)\n            mask.scatter_(-1, places, 1)\n"
         "            mask = mask.bool()\n            mask = torch.logical_not(mask)\n"
         "        y = x.masked_fill(mask, 0)\n        return y + x\n"},
    {MLP "with torch.no_grad():\n            places = topk(x, 3)[1]\n"
         "            ones = torch.ones(3, 8, 64, dtype=torch.bool)\n"
         "            both = torch.logical_and(ones.scatter(-1, places, 0), x > 0)\n"
         "        return x.masked_fill(both, 0)\n",
     MLP "with torch.no_grad():\n            places = topk(x, 3)[1]\n"
         "            both = torch.ones(x.shape, dtype=torch.bool).scatter(-1, places, 0)\n"
         "            both = both.logical_and(x > 0)\n"
         "        return x.masked_fill(both, 0)\n"},
    {MLP "y = x + x\n        y[:, 1:] += x[:, :1]\n        return y\n",
     MLP "y = x + x\n        y[..., 1:, :] += x[:, :1, :]\n        return y\n"},
    {MLP "y = {}\n        y[\"a\"] = x * 2\n        y[\"a\"] = x * 2\n        x = x + y[\"a\"]\n"
         "        return x\n",
     MLP "y = [x * 2]\n        y = [x * 2]\n        x = x + y[0]\n        return x\n"},
    {HEAD "class Mlp(Mlp):\n    ups = [linear(64, 64, bias=False) for i in range(1, 3)]\n"
          "    def forward(self, x):\n        for i in range(2):\n            x = self.ups[i](x)\n"
          "        return x if self.training else None\n",
     HEAD "class Mlp(Mlp):\n    a = linear(64, 64, bias=False)\n"
          "    b = linear(64, 64, bias=False)\n"
          "    def forward(self, x):\n        x = self.a(x)\n        return self.b(x)\n"},
    {HEAD "class Part:\n    scale = parameter(64)\n    def times(self, x):\n"
          "        return x * self.scale\nclass Mlp(Mlp):\n    part = Part()\n"
          "    def forward(self, x):\n        return self.part.times(x)\n",
     HEAD "class Part:\n    scale = parameter(64)\n    def forward(self, x):\n"
          "        return x * self.scale\nclass Mlp(Mlp):\n    part = Part()\n"
          "    def forward(self, x):\n        x = self.part(x)\n        return x\n"},
    {MLP "y = F.avg_pool2d(x.view(3, 8, 8, 8), 4).flatten(2)\n        return x + y[:, :, :1]\n",
     MLP "y = F.avg_pool2d(x.view(3, 8, 8, 8), 4)\n        y = y.view(3, 8, 4)\n"
         "        return x + y[..., :1]\n"},
    {HEAD "class Mlp(Mlp):\n    p = parameter(64, 64)\n    def forward(self, x):\n"
          "        return torch.matmul(x, self.p)\n",
     HEAD "class Mlp(Mlp):\n    p = parameter(64, 64)\n    def forward(self, x):\n"
          "        y = torch.matmul(x, self.p)\n        return y\n"},
    {MLP "y = torch.ones(9, dtype=torch.long)[torch.zeros(8, 64, dtype=torch.long)]\n"
         "        return x + y.float()\n",
     MLP "y = torch.ones(9, dtype=torch.long)[torch.zeros(512, dtype=torch.long)]\n"
         "        return x + y.view(8, 64).float()\n"},
    {MLP "y = torch.ones(8, 64)\n        y = torch.logical_and(y > 0, y < 1)\n"
         "        return x + torch.erfinv(torch.where(y, torch.ones(8, 64), 0))\n",
     MLP "y = torch.ones(8, 64)\n        y = (y > 0) == (y < 1)\n"
         "        y = torch.where(y, torch.ones(8, 64), 0).erfinv()\n        return x + y\n"},
    {MLP PLAIN, HEAD "class Part:\n    p = linear(hidden_size, intermediate_size, bias=mlp_bias)\n"
                     "    def forward(self, x):\n        return self.p(x)\n"
                     "class Mlp(Mlp):\n    gate_proj = None\n    up_proj = None\n"
                     "    parts = [Part(), Part()]\n    def forward(self, x):\n"
                     "        return self.down_proj(silu(self.parts[0](x)) * self.parts[1](x))\n"},
    {MLP PLAIN,
     HEAD "class Part:\n    p = linear(hidden_size, intermediate_size, bias=mlp_bias)\n"
          "class Mlp(Mlp):\n    gate_proj = None\n    up_proj = Part()\n    other = Part()\n"
          "    def forward(self, x):\n"
          "        return self.down_proj(silu(self.other.p(x)) * self.up_proj.p(x))\n"},
    {MLP "return gelu(self.up_proj(x))[..., :64] + x\n",
     HEAD "class Gelu:\n    def forward(self, x):\n        return gelu(x)\n"
          "class Mlp(Mlp):\n    up_proj = [linear(hidden_size, intermediate_size, bias=mlp_bias), "
          "Gelu()]\n    def forward(self, x):\n        return self.up_proj(x)[..., :64] + x\n"},
    {MLP "y = torch.arange(8)\n        z = torch.abs(y)\n        z = torch.full_like(y, 3)\n"
         "        y = torch.where(z > 3, y, z)\n        return x\n",
     MLP "y = torch.arange(8)\n        z = torch.min(y, y)\n        z = torch.zeros_like(y)\n"
         "        y = torch.where(z > y, y, z)\n        return x\n"},
    {MLP "y = torch.log(torch.ones(3, 8, 64))\n        return x + y\n",
     MLP "y = torch.sin(torch.ones(3, 8, 64))\n        return x + y\n"},
    {MLP "return torch.where(x > 0, x, 0)\n",
     MLP "seen = x > 0\n        x = torch.where(seen, x, -1)\n        return x\n"},
    {HEAD "class Mlp(Mlp):\n    e = batched_experts(4, 64, 8)\n    def forward(self, x):\n"
          "        rows = as_tokens(x).repeat(4, 1)\n"
          "        return self.e(rows).view(4, 3, 8, 64).sum(0)\n",
     HEAD "class Experts:\n    gate_up_proj = parameter(4, 64, 16)\n"
          "    down_proj = parameter(4, 8, 64)\n    def forward(self, x):\n"
          "        x = x.view(4, -1, 64)\n"
          "        gate_up = torch.bmm(x, self.gate_up_proj)\n"
          "        gate, up = gate_up.chunk(2, dim=-1)\n"
          "        x = torch.bmm(up * activation(gate), self.down_proj)\n"
          "        return x.view(-1, 64)\n"
          "class Mlp(Mlp):\n    e = Experts()\n    def forward(self, x):\n"
          "        rows = as_tokens(x).repeat(4, 1)\n"
          "        return self.e(rows).view(4, 3, 8, 64).sum(0)\n"},
    {MLP "with no_grad():\n            y = torch.arange(8) + 0\n"
         "            y = torch.log1p(torch.floor(y.float() / 8192))\n"
         "        return x * y[:, None].to(x.dtype)\n",
     MLP "with no_grad():\n            y = (torch.arange(8) + 0).float()\n"
         "            y = y / 8192\n            y = y.floor().log1p()\n"
         "        y = y.unsqueeze(-1)\n        return x * y.type_as(x)\n"},
    {HEAD "class Block:\n    norm = rms_norm(hidden_size)\n    def forward(self, x):\n"
          "        return self.norm(x)\n"
          "class Mlp(Mlp):\n    blocks = [Block() for i in range(num_key_value_heads)]\n"
          "    def forward(self, x):\n        for block in self.blocks:\n            x = block(x)\n"
          "        return x\n",
     HEAD "class Mlp(Mlp):\n    first = rms_norm(hidden_size)\n    second = rms_norm(hidden_size)\n"
          "    def forward(self, x):\n        return self.second(self.first(x))\n"},
    {HEAD "def forward(self, ids):\n    hidden = self.model(ids)\n    loss = lm_loss(hidden)\n"
          "    return loss\n",
     HEAD},
    {HEAD "def forward(self, ids):\n    hidden = self.model(ids)\n    logits = lm_logits(hidden)\n"
          "    loss = causal_loss(logits)\n    outputs(hidden, logits)\n    return loss\n",
     HEAD
     "class Outer:\n    model = Model()\n"
     "model = Outer()\nlm_head = head(model.model.embed_tokens)\n"
     "def forward(self, ids):\n    text = self.model.model\n    logits = lm_logits(text(ids))\n"
     "    if loss_in_chunks():\n        return None\n    return causal_loss(logits)\n"},
    {MLP "with torch.no_grad():\n            y = x * x\n        return x + y\n",
     MLP "with no_grad():\n            y = x * x\n        return x + y\n"},
};

static void test_pairs(void **state)
{
    uint32_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ms_error err = {0};
        ms_simulation both[2];
        for (int k = 0; k < 2; k++)
            if (step(k ? pairs[i].second : pairs[i].first, &both[k], &err) != MS_OK)
                fail_msg("%u:%u: %s\n%s", err.line, err.column, err.text,
                         k ? pairs[i].second : pairs[i].first);
        const ms_trace *a = &both[0].trace, *b = &both[1].trace;
        if (a->events.count != b->events.count || both[0].saved_bytes != both[1].saved_bytes) {
            print_error("%u and %u events, %llu and %llu bytes are saved:\n%s\n%s\n",
                        a->events.count, b->events.count, (unsigned long long)both[0].saved_bytes,
                        (unsigned long long)both[1].saved_bytes, pairs[i].first, pairs[i].second);
            wrong++;
        }
        for (int k = 0; k < 2; k++)
            ms_simulation_free(&both[k]);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
